# The two libraries that others link:
#
#   attention_plasticity::core                  arrays in, numbers out; behind it only fmt and Highway
#   attention_plasticity::attention_plasticity  whole runs as well, from disk, the Hub and object stores
#
# Each holds the objects of its modules. The second one has all of the first one's interface, so a program links one of
# them. A consumer needs no header of a third-party library.

# ap_library(<name> ALIAS <alias> MODULES <modules>... USES <third-party libraries>...)
function(ap_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ALIAS" "MODULES;USES")
  set(objects "")
  foreach(module IN LISTS arg_MODULES)
    list(APPEND objects $<TARGET_OBJECTS:ap_${module}>)
  endforeach()
  if(AP_SHARED)
    add_library(${name} SHARED ${objects})
    target_link_options(${name} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map
      -Wl,--gc-sections)
    # Sanitized code refers to what the program brings.
    if(NOT AP_SANITIZE)
      target_link_options(${name} PRIVATE -Wl,-z,defs)
    endif()
    set_target_properties(${name} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  else()
    add_library(${name} STATIC ${objects})
  endif()
  add_library(attention_plasticity::${arg_ALIAS} ALIAS ${name})
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:ap_flags> ${arg_USES})
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${name} INTERFACE cxx_std_20)
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} EXPORT_NAME ${arg_ALIAS} LINKER_LANGUAGE CXX)
endfunction()

set(core_modules base json random rotary stats plasticity analysis)
ap_library(attention_plasticity_core ALIAS core MODULES ${core_modules} USES fmt::fmt hwy::hwy Threads::Threads)
if(NOT AP_CORE_ONLY)
  ap_library(attention_plasticity ALIAS attention_plasticity
    MODULES ${core_modules} rotation digest settings hub store dump results options source measure outcomes run
    USES Arrow::arrow Arrow::parquet CURL::libcurl fmt::fmt hwy::hwy OpenSSL::Crypto yaml-cpp Threads::Threads)
endif()
