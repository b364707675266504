#include "markdown_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace attention_plasticity {
namespace {

bool is_blank(const std::string& line) { return line.find_first_not_of(' ') == std::string::npos; }

bool begins_item(const std::string& line) {
  if (line.starts_with("* ") || line.starts_with("- ")) return true;
  const std::size_t digits = line.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string::npos && line.compare(digits, 2, ". ") == 0;
}

// A number with the unit of its last digit; `rest` is the text after it.
struct ShownNumber {
  double value = 0;
  double unit = 1;
  std::string rest;
};

bool read_number(const std::string& word, ShownNumber& number) {
  char* end = nullptr;
  number.value = std::strtod(word.c_str(), &end);
  if (end == word.c_str()) return false;
  const std::string digits = word.substr(0, static_cast<std::size_t>(end - word.c_str()));
  number.rest = end;
  const std::size_t exponent = digits.find_first_of("eE");
  const std::string mantissa = digits.substr(0, exponent);
  const std::size_t point = mantissa.find('.');
  const double decimals = point == std::string::npos ? 0 : static_cast<double>(mantissa.size() - point - 1);
  const double power = exponent == std::string::npos ? 0 : std::strtod(digits.c_str() + exponent + 1, nullptr);
  number.unit = std::pow(10.0, power - decimals);
  return true;
}

// Brackets and signs before a number are compared as text.
std::size_t start_of_number(const std::string& word) { return word.find_first_of("0123456789+-."); }

bool same_word(const std::string& shown, const std::string& actual) {
  if (shown == actual) return true;
  const std::size_t start = start_of_number(shown);
  if (start == std::string::npos || shown.substr(0, start) != actual.substr(0, std::min(start, actual.size()))) {
    return false;
  }
  ShownNumber a;
  ShownNumber b;
  return read_number(shown.substr(start), a) && read_number(actual.substr(start), b) && a.unit == b.unit &&
         a.unit < 1 && std::abs(a.value - b.value) < 1.5 * a.unit && a.rest == b.rest;
}

}  // namespace

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<MarkdownBlock> markdown_blocks(const std::string& page) {
  std::vector<MarkdownBlock> blocks;
  std::istringstream stream(page);
  bool fenced = false;
  bool indented = false;
  bool after_blank = true;
  bool in_list = false;
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    if (line.starts_with("```")) {
      fenced = !fenced;
      indented = false;
      if (fenced) blocks.push_back({line.substr(3), number + 1, {}});
    } else if (fenced) {
      blocks.back().lines.push_back(line);
    } else if (indented && (is_blank(line) || line.starts_with("    "))) {
      blocks.back().lines.push_back(is_blank(line) ? "" : line.substr(4));
    } else if (line.starts_with("    ") && after_blank && !in_list) {
      indented = true;
      blocks.push_back({"", number, {line.substr(4)}});
    } else {
      indented = false;
      if (begins_item(line)) in_list = true;
      if (!is_blank(line) && !line.starts_with(' ') && !begins_item(line)) in_list = false;
    }
    after_blank = is_blank(line);
  }
  for (MarkdownBlock& block : blocks) {
    while (!block.lines.empty() && is_blank(block.lines.back())) block.lines.pop_back();
  }
  return blocks;
}

std::vector<ShownCommand> shown_commands(const MarkdownBlock& block) {
  const std::string prompt = "$ ";
  bool with_prompts = false;
  for (const std::string& line : block.lines) with_prompts = with_prompts || line.starts_with(prompt);
  std::vector<ShownCommand> commands;
  bool continues = false;
  for (const std::string& line : block.lines) {
    if (continues) {
      commands.back().text += "\n" + line;
    } else if (!with_prompts || line.starts_with(prompt)) {
      if (is_blank(line)) continue;
      commands.push_back({with_prompts ? line.substr(prompt.size()) : line, with_prompts, {}});
    } else if (!commands.empty()) {
      commands.back().output.push_back(line);
      continue;
    }
    continues = line.ends_with('\\');
  }
  for (ShownCommand& command : commands) {
    while (!command.output.empty() && is_blank(command.output.back())) command.output.pop_back();
  }
  return commands;
}

bool same_shown_line(const std::string& shown, const std::string& actual) {
  const std::vector<std::string> a = words_of(shown);
  const std::vector<std::string> b = words_of(actual);
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_word(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace attention_plasticity
