#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// Text of a user for a message: printable_text of its first 80 bytes. `''` when empty.
std::string shown_text(std::string_view text);

/// The same in single quotes.
std::string quoted_text(std::string_view text);

/// `text` without spaces and tabs at both ends.
std::string_view trimmed_text(std::string_view text);

/// ASCII letters in lower case; all other bytes unchanged.
std::string lower_case(std::string_view text);

/// A number of bytes for people: 12.3 KiB, 4.5 MiB, 1.2 GiB.
std::string size_text(std::uint64_t bytes);

/// A number of things: "1 head", "2 heads".
std::string counted_text(std::size_t count, std::string_view thing);

/// The number of the line, from 1, that holds the byte at `offset`.
std::size_t line_number(std::string_view text, std::size_t offset);

}  // namespace attention_plasticity
