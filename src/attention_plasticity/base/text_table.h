#pragma once

#include <string>
#include <vector>

namespace attention_plasticity {

using TextRow = std::vector<std::string>;

/// Lines of printable text with two blanks between columns, each as wide as its widest field. Rows have equally many
/// fields.
std::string text_table(const std::vector<TextRow>& rows);

}  // namespace attention_plasticity
