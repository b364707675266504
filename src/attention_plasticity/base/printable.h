#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Names in data (models, folders, columns, labels, headers of servers) are written by strangers. All text that leaves
// the program for a terminal, a message or a table passes through these functions; Error does so by itself.

namespace attention_plasticity {

/// `text` on one line, as characters that only show themselves. What a terminal would obey, and what hides or reorders
/// its surroundings, is spelled out: control characters of ASCII as \x1b (a line break as \n), those beyond ASCII,
/// marks of direction and characters without a width as \u202e, bytes that are not UTF-8 as \xff. Text without these is
/// unchanged, so that applying the function again changes nothing.
std::string printable_text(std::string_view text);

/// The same for text of several lines: line breaks and tabs are kept.
std::string printable_lines(std::string_view text);

/// Text of JSON that is valid UTF-8, with the same characters as escapes of JSON. They occur inside strings only.
std::string printable_json(std::string_view json);

/// The number of characters of printable UTF-8 text: its columns on a terminal, except for wide scripts.
std::size_t shown_width(std::string_view text);

}  // namespace attention_plasticity
