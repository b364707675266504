#pragma once

#include <cstddef>
#include <string_view>

namespace attention_plasticity {

/// True if `text` is well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above
/// U+10FFFF).
bool is_utf8(std::string_view text);

/// The bytes of the well-formed character that `text` begins with; 0 if there is none.
std::size_t utf8_length(std::string_view text);

/// True if a byte of UTF-8 continues a character instead of starting one.
bool continues_utf8(char byte);

}  // namespace attention_plasticity
