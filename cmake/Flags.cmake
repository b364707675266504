# How the project's own targets are compiled. Each links ap_flags privately, so that a project which includes this one
# keeps its own flags.

add_library(ap_flags INTERFACE)
# Contracting a*b+c into one rounding would make results depend on the target: off everywhere.
target_compile_options(ap_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -ffp-contract=off
  $<$<BOOL:${AP_WARNINGS_AS_ERRORS}>:-Werror>)
# The libraries export what AP_API marks; see cmake/exports.map.
target_compile_options(ap_flags INTERFACE -fvisibility=hidden -fvisibility-inlines-hidden)
# For ccache, which takes files with precompiled headers only so.
target_compile_options(ap_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
# Files of strangers are read. What an error in that could be used for is made harder: return addresses are guarded, the
# stack cannot be jumped over or executed, calls of the C library know the size of their buffers, and tables of addresses
# are read-only once the program runs. tests/program_hardening_test.cc looks for it in the program.
if(NOT AP_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_compile_options(ap_flags INTERFACE
    $<$<CONFIG:Release>:-fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
  target_link_options(ap_flags INTERFACE $<$<CONFIG:Release>:-Wl,-z,relro,-z,now,-z,noexecstack>)
endif()
if(AP_SANITIZE)
  target_compile_options(ap_flags INTERFACE -fsanitize=${AP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(ap_flags INTERFACE -fsanitize=${AP_SANITIZE})
endif()

# Text modules hold no loop that -O3 would speed up, and it makes them a third slower to compile. They need -O2 all the same:
# at -O1 the destructor of a vector with an allocator visits every element, even numbers, and the linker may take that copy
# for the kernels' files too (4 % of a compat run). Tests are compiled with -O1, but not with sanitizers, where that takes
# twice as long.
set(AP_LIGHT_OPTIMIZATION $<$<CONFIG:Release>:-O2>)
set(AP_TEST_OPTIMIZATION $<$<CONFIG:Release>:-O1>)
if(AP_SANITIZE)
  list(APPEND AP_TEST_OPTIMIZATION -O0)
endif()

# ap_precompile(<name> HEADERS <headers>... [USES <libraries>...] [OPTIONS <compile options>...])
# Precompiles headers; targets with the same flags take them with target_precompile_headers(REUSE_FROM <name>). Only
# headers that most files include belong here: one that a file does not need still costs it the templates that the
# header itself instantiates (nlohmann/json.hpp: 0.4 s).
function(ap_precompile name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;USES;OPTIONS")
  set(source ${PROJECT_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE ap_flags ${arg_USES})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()
