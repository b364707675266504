# `cmake --install` gives the program, one shared library of all modules but the command line, its headers and a CMake
# package. Third-party libraries stay behind the shared library: a consumer needs none of their headers.

get_property(modules GLOBAL PROPERTY AP_MODULES)
list(REMOVE_ITEM modules ap_cli)
set(objects "")
foreach(module IN LISTS modules)
  list(APPEND objects $<TARGET_OBJECTS:${module}>)
endforeach()
add_library(attention_plasticity SHARED ${objects})
target_link_libraries(attention_plasticity PRIVATE ap_flags
  Arrow::arrow Arrow::parquet CURL::libcurl fmt::fmt hwy::hwy OpenSSL::Crypto yaml-cpp Threads::Threads ZLIB::ZLIB)
target_include_directories(attention_plasticity INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(attention_plasticity INTERFACE cxx_std_20)
set_target_properties(attention_plasticity PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH "$ORIGIN")

file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(attention-plasticity PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")

install(TARGETS attention-plasticity attention_plasticity EXPORT attention_plasticity-targets)
# Where Arrow came with the build, it goes along: an installed program does not point into a clone.
install(FILES ${ArrowParquet_LIBRARIES} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/attention_plasticity DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h"
  PATTERN "*_testing.h" EXCLUDE PATTERN "highway.h" EXCLUDE PATTERN "*-inl.h" EXCLUDE
  PATTERN "json.h" EXCLUDE PATTERN "rotary_json.h" EXCLUDE PATTERN "vector_pages.h" EXCLUDE PATTERN "cli" EXCLUDE)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/attention_plasticity)
install(EXPORT attention_plasticity-targets NAMESPACE attention_plasticity:: DESTINATION ${package_dir}
  FILE attention_plasticity-targets.cmake)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attention_plasticity-config-version.cmake
  COMPATIBILITY SameMinorVersion)
file(WRITE ${PROJECT_BINARY_DIR}/attention_plasticity-config.cmake
  "include(\${CMAKE_CURRENT_LIST_DIR}/attention_plasticity-targets.cmake)\n")
install(FILES ${PROJECT_BINARY_DIR}/attention_plasticity-config.cmake
  ${PROJECT_BINARY_DIR}/attention_plasticity-config-version.cmake DESTINATION ${package_dir})
