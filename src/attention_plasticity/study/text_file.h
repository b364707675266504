#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// All bytes of a file, without a byte order mark. Throws Error(input) when it is missing, a folder or unreadable.
std::string read_text_file(const std::filesystem::path& file);

/// Text from a file as messages show it: on one line, and cut when it is long.
std::string shown_text(std::string_view text);

/// `text` without blanks and tabs at its ends.
std::string_view trimmed_text(std::string_view text);

/// The number of the line, from 1, that holds the byte at `offset`.
std::size_t line_number(std::string_view text, std::size_t offset);

}  // namespace attention_plasticity
