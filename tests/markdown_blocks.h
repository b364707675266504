#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace attention_plasticity {

/// A block of code in a Markdown page: indented by four blanks, or between fences.
struct MarkdownBlock {
  std::string language;            ///< the word after the fence; empty: none, or an indented block
  std::size_t line = 0;            ///< of its first line of code, from 1
  std::vector<std::string> lines;  ///< without indentation and without empty lines at the end
};

/// The blocks of a page in their order. Indented lines that continue an item of a list are text.
std::vector<MarkdownBlock> markdown_blocks(const std::string& page);

/// A command of a block and the output that the block shows below it.
struct ShownCommand {
  std::string text;                 ///< with its continuation lines
  bool shows_output = false;        ///< true for commands after `$ `
  std::vector<std::string> output;  ///< without empty lines at the end
};

/// The commands of a block. If a line begins with `$ `, such lines are commands, and those between them output.
/// Otherwise each line is a command. A line that ends in a backslash goes on in the next.
std::vector<ShownCommand> shown_commands(const MarkdownBlock& block);

/// The words between the blanks of a line.
std::vector<std::string> words_of(const std::string& line);

/// Whether two lines of output are the same but for the last shown digit of their numbers, which may differ by one.
bool same_shown_line(const std::string& shown, const std::string& actual);

}  // namespace attention_plasticity
