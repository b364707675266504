#include "attention_plasticity/figure/figure_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

bool is_selected(const std::vector<int>& selected, int index) {
  return selected.empty() || std::ranges::find(selected, index) != selected.end();
}

double weighted_median(std::vector<CountedValue> values, double total) {
  std::ranges::sort(values, {}, &CountedValue::value);
  double below = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    below += values[i].count;
    if (2 * below < total) continue;
    return 2 * below > total || i + 1 == values.size() ? values[i].value : (values[i].value + values[i + 1].value) / 2;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void check_indices(const std::vector<int>& selected, int count, std::string_view field, const std::string& file) {
  for (const int index : selected) {
    if (index < count) continue;
    throw Error(ErrorKind::usage,
                fmt::format("`{}: {}`: the {} of {} are 0 to {}", field, index, field, file, count - 1));
  }
}

std::string index_text(const std::vector<int>& selected, std::string_view word) {
  if (selected.empty()) return fmt::format("any {}", word);
  return fmt::format("{}{} {}", word, selected.size() == 1 ? "" : "s", fmt::join(selected, ", "));
}

}  // namespace

double aggregated(std::vector<CountedValue> values, Aggregate aggregate) {
  std::erase_if(values, [](const CountedValue& value) { return !(value.count > 0); });
  double total = 0;
  double sum = 0;
  for (const CountedValue& value : values) {
    total += value.count;
    sum += value.count * value.value;
  }
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return aggregate == Aggregate::median ? weighted_median(std::move(values), total) : sum / total;
}

double supporting_count(double total, std::size_t heads_with_any, std::size_t all_heads) {
  return total * static_cast<double>(heads_with_any) / static_cast<double>(all_heads);
}

bool HeadSelection::contains(int layer, int q_head) const {
  return is_selected(layers, layer) && is_selected(heads, q_head);
}

CsvTable selected_rows(CsvTable table, const HeadSelection& selection, int num_layers, int num_heads) {
  if (selection.layers.empty() && selection.heads.empty()) return table;
  const auto place = [&](std::string_view column) {
    if (const auto found = table.find(column)) return *found;
    throw Error(ErrorKind::input, fmt::format("has no column {}, so heads cannot be selected", column), table.file);
  };
  const std::size_t layer_column = place("layer");
  const std::size_t head_column = place("q_head");
  CsvTable selected{table.columns, {}, {}, table.file};
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const int layer = table.index(row, layer_column);
    const int head = table.index(row, head_column);
    num_layers = std::max(num_layers, layer + 1);
    num_heads = std::max(num_heads, head + 1);
    if (!selection.contains(layer, head)) continue;
    selected.rows.push_back(std::move(table.rows[row]));
    selected.lines.push_back(table.lines[row]);
  }
  check_indices(selection.layers, num_layers, "layers", table.file);
  check_indices(selection.heads, num_heads, "heads", table.file);
  if (selected.rows.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("{} has no row for {} in {}", table.file, index_text(selection.heads, "head"),
                            index_text(selection.layers, "layer")));
  }
  return selected;
}

void check_map_size(std::size_t rows, std::size_t columns, const std::string& file) {
  constexpr std::size_t most_cells = std::size_t{1} << 22;
  if (rows * columns <= most_cells) return;
  throw Error(ErrorKind::input, fmt::format("{} by {} cells are too many to draw", rows, columns), file);
}

}  // namespace attention_plasticity
