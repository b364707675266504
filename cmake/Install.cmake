# `cmake --install` gives the program, the two libraries, their headers, a CMake package, pkg-config files and the licence.

include(CMakePackageConfigHelpers)

set(libraries attention_plasticity_core)
set(programs "")
if(NOT AP_CORE_ONLY)
  list(APPEND libraries attention_plasticity)
endif()
if(TARGET attention-plasticity)
  list(APPEND programs attention-plasticity)
endif()

# Where Arrow came with the build, it goes along, in a folder of its own: it must not stand in the way of another Arrow
# of the prefix, and an installed program must not point into a clone.
set(private_libraries ${CMAKE_INSTALL_LIBDIR}/attention_plasticity)
install(FILES ${ArrowParquet_LIBRARIES} DESTINATION ${private_libraries})
set_target_properties(${libraries} PROPERTIES INSTALL_RPATH "$ORIGIN/attention_plasticity")
if(programs)
  file(RELATIVE_PATH bin_to_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/attention_plasticity)
  set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_libraries}")
endif()

install(TARGETS ${libraries} EXPORT attention_plasticity-targets)
install(TARGETS ${programs})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/attention_plasticity DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(AP_CAPTURE)
  # libllama is part of the program then.
  install(FILES ${PROJECT_SOURCE_DIR}/licenses/llama.cpp.txt DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/attention_plasticity)
install(EXPORT attention_plasticity-targets NAMESPACE attention_plasticity:: DESTINATION ${package_dir}
  FILE attention_plasticity-targets.cmake)
set(bundled_libraries "")
foreach(library IN LISTS ArrowParquet_LIBRARIES)
  cmake_path(GET library FILENAME file)
  list(APPEND bundled_libraries ${file})
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/attention_plasticity-config.cmake.in
  ${PROJECT_BINARY_DIR}/attention_plasticity-config.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS private_libraries NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attention_plasticity-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attention_plasticity-config.cmake
  ${PROJECT_BINARY_DIR}/attention_plasticity-config-version.cmake DESTINATION ${package_dir})

# A prefix that is given to `cmake --install` later holds too, since paths are relative to the file.
file(RELATIVE_PATH pkgconfig_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pkgconfig_to_prefix "${pkgconfig_to_prefix}")
foreach(library IN LISTS libraries)
  set(pkgconfig_private "-lfmt -lhwy -pthread")
  set(pkgconfig_requires "")
  if(library STREQUAL "attention_plasticity")
    set(pkgconfig_private "${pkgconfig_private} -L\${libdir}/attention_plasticity -lparquet -larrow")
    if(NOT AP_SHARED)
      set(pkgconfig_requires "libcurl libcrypto yaml-cpp")
    endif()
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/library.pc.in ${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
