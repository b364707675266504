#include "attention_plasticity/base/text_table.h"

#include <algorithm>
#include <cstddef>

#include "attention_plasticity/base/printable.h"

namespace attention_plasticity {

std::string text_table(const std::vector<TextRow>& rows) {
  if (rows.empty()) return {};
  std::vector<TextRow> shown = rows;
  std::vector<std::size_t> widths(rows.front().size());
  for (TextRow& row : shown) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = printable_text(row[i]);
      widths[i] = std::max(widths[i], shown_width(row[i]));
    }
  }
  std::string text;
  for (const TextRow& row : shown) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      line.append(widths[i] - shown_width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace attention_plasticity
