# One static library per room of src/attention_plasticity, named ap_<room>. A room links only to the rooms it may
# use, so that a call into another one does not link.

# ap_room(<room> SOURCES ... [USES <public libraries>...] [HIDES <libraries its headers do not show>...])
function(ap_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;USES;HIDES")
  add_library(ap_${room} STATIC ${arg_SOURCES})
  target_include_directories(ap_${room} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(ap_${room} PUBLIC ${arg_USES} PRIVATE ${arg_HIDES})
  set_property(GLOBAL APPEND PROPERTY AP_ROOMS ap_${room})
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
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_USES} GTest::gtest_main rapidcheck fmt::fmt)
  target_compile_definitions(${name} PRIVATE AP_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if("parallel" IN_LIST arg_LABELS)
    if(NOT TARGET parallel_tests)
      add_custom_target(parallel_tests)
    endif()
    add_dependencies(parallel_tests ${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS "${arg_LABELS}")
endfunction()
