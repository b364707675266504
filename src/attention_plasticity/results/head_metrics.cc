#include "attention_plasticity/results/head_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr std::array<std::string_view, 3> id_columns{"layer", "q_head", "k_head"};

std::size_t id_column(const CsvTable& table, std::string_view name) {
  if (const auto column = table.find(name)) return *column;
  throw Error(
      ErrorKind::input,
      fmt::format("has no column {}; metrics are what `attention-plasticity analyze` writes to head_metrics.csv", name),
      table.file);
}

}  // namespace

HeadMetrics::HeadMetrics(CsvTable table) : table_(std::move(table)) {
  const std::size_t layer = id_column(table_, "layer");
  const std::size_t q_head = id_column(table_, "q_head");
  const std::size_t k_head = id_column(table_, "k_head");
  if (table_.rows.empty()) throw Error(ErrorKind::input, "has a header and no heads", table_.file);
  std::vector<HeadId> unsorted;
  unsorted.reserve(table_.rows.size());
  for (std::size_t row = 0; row < table_.rows.size(); ++row) {
    unsorted.push_back({table_.index(row, layer), table_.index(row, q_head), table_.index(row, k_head)});
  }
  rows_.resize(unsorted.size());
  std::iota(rows_.begin(), rows_.end(), std::size_t{0});
  const auto place = [&](std::size_t row) { return std::pair(unsorted[row].layer, unsorted[row].q_head); };
  std::ranges::stable_sort(rows_, {}, place);
  const auto twin = std::ranges::adjacent_find(rows_, {}, place);
  if (twin != rows_.end()) {
    throw Error(ErrorKind::input,
                fmt::format("lines {} and {}: layer {}, q_head {} has two rows", table_.lines[*twin],
                            table_.lines[*(twin + 1)], unsorted[*twin].layer, unsorted[*twin].q_head),
                table_.file);
  }
  for (const std::size_t row : rows_) heads_.push_back(unsorted[row]);
}

std::vector<std::string_view> HeadMetrics::measures() const {
  std::vector<std::string_view> names;
  for (const std::string& column : table_.columns) {
    if (!column.empty() && std::ranges::find(id_columns, column) == id_columns.end()) names.emplace_back(column);
  }
  return names;
}

bool HeadMetrics::has(std::string_view measure) const {
  const std::vector<std::string_view> names = measures();
  return std::ranges::find(names, measure) != names.end();
}

std::vector<double> HeadMetrics::values(std::string_view measure) const {
  const auto column = table_.find(measure);
  if (!column || !has(measure)) {
    const auto nearest = nearest_name(measure, measures());
    throw Error(ErrorKind::usage, fmt::format("{} has no column {}{}", table_.file, quoted_text(measure),
                                              nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
  }
  std::vector<double> values(rows_.size());
  std::ranges::transform(rows_, values.begin(), [&](std::size_t row) { return table_.number(row, *column); });
  return values;
}

HeadMetrics read_head_metrics(const ResultFiles& files) { return HeadMetrics(files.read(TableId::metrics)); }

}  // namespace attention_plasticity
