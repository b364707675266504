#pragma once

#include <string_view>

namespace attention_plasticity {

/// Whether `text` is well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing past
/// U+10FFFF).
bool is_utf8(std::string_view text);

/// Whether a byte of UTF-8 continues a character rather than starting one.
bool continues_utf8(char byte);

}  // namespace attention_plasticity
