#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// Text of users as messages show it: on one line, and cut when it is long.
std::string shown_text(std::string_view text);

/// The same between quotes.
std::string quoted_text(std::string_view text);

/// `text` without blanks and tabs at its ends.
std::string_view trimmed_text(std::string_view text);

/// Letters of ASCII in lower case; all else as it is.
std::string lower_case(std::string_view text);

/// A number of bytes as people read it: 12.3 KiB, 4.5 MiB, 1.2 GiB.
std::string size_text(std::uint64_t bytes);

/// The number of the line, from 1, that holds the byte at `offset`.
std::size_t line_number(std::string_view text, std::size_t offset);

}  // namespace attention_plasticity
