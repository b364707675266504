#include "attention_plasticity/evaluation/head_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

namespace attention_plasticity {
namespace {

// A column of text: its header and a field for each line.
struct Column {
  std::string header;
  std::vector<std::string> fields;
};

std::string figure(double value, std::string_view format) {
  return std::isnan(value) ? "-" : fmt::format(fmt::runtime(format), value);
}

std::vector<std::size_t> by_value(std::span<const double> values) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return values[i]; });
  return order;
}

// NaN when the head has no label.
double label_of(const HeadId& head, const HeadLabels& labels, const HeadLabel& label) {
  const std::optional<std::size_t> place = labels.find(head);
  return place ? label.values[*place] : std::nan("");
}

std::string lines(std::span<const Column> columns, std::size_t first, std::size_t end) {
  std::string text;
  for (std::size_t line = first; line < end; ++line) {
    for (const Column& column : columns) {
      std::size_t width = column.header.size();
      for (const std::string& field : column.fields) width = std::max(width, field.size());
      const bool is_first = &column == columns.data();
      text += fmt::format("{}{:>{}}", is_first ? "" : "  ", line == 0 ? column.header : column.fields[line - 1], width);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string ranking_table(const RankedMeasure& measure, std::size_t count, const HeadLabels* labels) {
  const std::vector<HeadId>& heads = measure.heads;
  std::vector<std::size_t> shown = by_value(measure.values);
  if (shown.empty()) return {};
  const bool in_parts = shown.size() > 2 * count;
  if (in_parts) {
    shown.erase(shown.begin() + static_cast<std::ptrdiff_t>(count), shown.end() - static_cast<std::ptrdiff_t>(count));
  }

  std::vector<Column> columns;
  const auto add = [&](std::string header, auto&& field) {
    Column& column = columns.emplace_back(Column{std::move(header), {}});
    for (const std::size_t head : shown) column.fields.push_back(field(head));
  };
  add("layer", [&](std::size_t i) { return fmt::format("{}", heads[i].layer); });
  add("q_head", [&](std::size_t i) { return fmt::format("{}", heads[i].q_head); });
  add(measure.name, [&](std::size_t i) { return figure(measure.values[i], "{:.4f}"); });
  if (!measure.errors.empty()) add("±", [&](std::size_t i) { return figure(measure.errors[i], "{:.4f}"); });
  for (std::size_t l = 0; labels != nullptr && l < labels->labels.size(); ++l) {
    const HeadLabel& label = labels->labels[l];
    add(label.name, [&](std::size_t i) { return figure(label_of(heads[i], *labels, label), "{:.3g}"); });
  }

  const std::size_t end = shown.size() + 1;
  if (!in_parts) return lines(columns, 0, end);
  return lines(columns, 0, count + 1) + "  ...\n" + lines(columns, count + 1, end);
}

}  // namespace attention_plasticity
