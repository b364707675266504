# nlohmann-json frees a list or an object by way of a stack on the heap, in its destructor: where memory is gone, that would
# end the program on the spot. Values are nested at most 64 levels deep here (src/attention_plasticity/json/json.h), so that
# plain recursion frees them as well. This makes a copy of the main header that does so, for the project's own files;
# tests/input_faults_test.cc fails without it.

get_target_property(json_folders nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
find_file(AP_JSON_HEADER nlohmann/json.hpp HINTS ${json_folders})
mark_as_advanced(AP_JSON_HEADER)
set(flattening "if (t == value_t::array || t == value_t::object)\n            {\n                // flatten")
if(AP_JSON_HEADER)
  file(READ ${AP_JSON_HEADER} json_text)
  string(FIND "${json_text}" "${flattening}" flattening_at)
else()
  set(flattening_at -1)
endif()
if(flattening_at EQUAL -1)
  message(STATUS "nlohmann/json.hpp is of an unknown version: freeing JSON may need memory")
else()
  string(REPLACE "${flattening}" "if (false)\n            {\n                // flatten" json_text "${json_text}")
  set(json_copy ${PROJECT_BINARY_DIR}/include/nlohmann/json.hpp)
  set(json_before "")
  if(EXISTS ${json_copy})
    file(READ ${json_copy} json_before)
  endif()
  if(NOT "${json_before}" STREQUAL "${json_text}")
    file(WRITE ${json_copy} "${json_text}")
  endif()
  target_include_directories(ap_flags BEFORE INTERFACE ${PROJECT_BINARY_DIR}/include)
endif()
