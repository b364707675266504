# One static library per module of src/attention_plasticity, named ap_<module>. A module links only to the modules it may
# use, so that a call into another one does not link.

# ap_module(<module> SOURCES ... [USES <public libraries>...] [HIDES <libraries its headers do not show>...])
function(ap_module module)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;USES;HIDES")
  add_library(ap_${module} STATIC ${arg_SOURCES})
  target_include_directories(ap_${module} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(ap_${module} PUBLIC ${arg_USES} PRIVATE ${arg_HIDES})
  set_property(GLOBAL APPEND PROPERTY AP_MODULES ap_${module})
endfunction()

# ap_test(<name> SOURCES ... [USES <libraries>...] [LABELS <ctest labels>...])
# Tests find golden figures and example dumps below AP_SOURCE_DIR. Those labelled `parallel` start threads and run under
# ThreadSanitizer too; the target parallel_tests builds just them.
function(ap_test name)
  if(NOT AP_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;USES;LABELS")
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_USES} GTest::gtest_main rapidcheck fmt::fmt)
  target_compile_definitions(${name} PRIVATE AP_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if("parallel" IN_LIST arg_LABELS)
    if(NOT TARGET parallel_tests)
      add_custom_target(parallel_tests)
    endif()
    add_dependencies(parallel_tests ${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS "${arg_LABELS}")
endfunction()
