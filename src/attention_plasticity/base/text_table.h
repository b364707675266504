#pragma once

#include <string>
#include <vector>

namespace attention_plasticity {

using TextRow = std::vector<std::string>;

/// Lines of text with two blanks between columns, each as wide as its widest field. Rows have equally many fields, and
/// fields are ASCII.
std::string text_table(const std::vector<TextRow>& rows);

}  // namespace attention_plasticity
