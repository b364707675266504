#pragma once

#include <string>
#include <string_view>

namespace attention_plasticity {

/// A message of the library in the words of the command line. The library names fields between backticks; here
/// `rope_theta` becomes --rope_theta, and `rope: none` becomes --rope none. Other text between backticks stays.
std::string with_flags(std::string_view message);

/// Writes a message of the library to standard error, in these words and on one line, whatever it quotes.
void tell_line(std::string_view message);

}  // namespace attention_plasticity
