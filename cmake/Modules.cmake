# One static library per module of src/attention_plasticity, named ap_<module>. A module links only to the modules it may
# use, so that a call into another one does not link.

set(standard_headers <algorithm> <chrono> <filesystem> <functional> <map> <optional> <span> <string> <string_view> <vector>)
ap_precompile(ap_number_headers HEADERS <algorithm> <cmath> <filesystem> <functional> <optional> <span> <string> <vector>)
ap_precompile(ap_text_headers HEADERS ${standard_headers} <fmt/format.h> <fmt/ranges.h> USES fmt::fmt
  OPTIONS ${AP_LIGHT_OPTIMIZATION})
if(AP_BUILD_TESTS)
  ap_precompile(ap_test_headers HEADERS ${standard_headers} <fmt/format.h> <gtest/gtest.h> USES fmt::fmt GTest::gtest
    OPTIONS ${AP_TEST_OPTIMIZATION})
  # Executables are compiled as such, and headers for them likewise.
  set_target_properties(ap_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endif()

# ap_module(<module> [TEXT] SOURCES ... [USES <public libraries>...] [HIDES <libraries its headers do not show>...])
# TEXT: a module that reads and writes text and holds no kernels; it may use fmt.
function(ap_module module)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TEXT" "" "SOURCES;USES;HIDES")
  set(target ap_${module})
  # Not all are in every build: those of the program are left out where only the libraries are asked for.
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC ${arg_USES} PRIVATE ap_flags ${arg_HIDES})
  if(arg_TEXT)
    target_link_libraries(${target} PRIVATE fmt::fmt)
    target_compile_options(${target} PRIVATE ${AP_LIGHT_OPTIMIZATION})
    target_precompile_headers(${target} REUSE_FROM ap_text_headers)
  else()
    target_precompile_headers(${target} REUSE_FROM ap_number_headers)
  endif()
endfunction()

# ap_test(<name> SOURCES ... [USES <libraries>...] [LABELS <ctest labels>...])
# Tests find golden figures and example dumps by tests/places/places.h. Those labelled `parallel` start threads and run under
# ThreadSanitizer too; the target parallel_tests builds just them.
function(ap_test name)
  if(NOT AP_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;USES;LABELS")
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
    POSITION_INDEPENDENT_CODE OFF)
  target_link_libraries(${name} PRIVATE ap_flags ${arg_USES} ap_places GTest::gtest_main rapidcheck fmt::fmt)
  target_compile_options(${name} PRIVATE ${AP_TEST_OPTIMIZATION})
  target_precompile_headers(${name} REUSE_FROM ap_test_headers)
  if(AP_UNITE_TESTS)
    # A variable of one file may hide one of another.
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8
      UNITY_BUILD_CODE_BEFORE_INCLUDE "#pragma GCC diagnostic ignored \"-Wshadow\"")
  endif()
  if("parallel" IN_LIST arg_LABELS)
    if(NOT TARGET parallel_tests)
      add_custom_target(parallel_tests)
    endif()
    add_dependencies(parallel_tests ${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS "${arg_LABELS}")
endfunction()
