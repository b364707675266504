#include "attention_plasticity/compare/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_table.h"
#include "attention_plasticity/compare/number_text.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t most_moved = 10;

// Heads that moved in a layer.
struct Moved {
  std::size_t up = 0;
  std::size_t down = 0;
};

std::map<int, Moved> moved_by_layer(const ColumnComparison& column, double level) {
  std::map<int, Moved> layers;
  for (const HeadDifference& head : column.heads) {
    Moved& layer = layers[head.head.layer];
    if (has_moved(head, level)) ++(head.difference > 0 ? layer.up : layer.down);
  }
  return layers;
}

// The heads with the largest |difference|; with errors, those with the smallest p.
std::vector<HeadDifference> strongest(const ColumnComparison& column) {
  std::vector<HeadDifference> heads = column.heads;
  std::erase_if(heads,
                [&](const HeadDifference& head) { return std::isnan(column.has_errors ? head.z : head.difference); });
  const auto strength = [&](const HeadDifference& head) {
    return -std::abs(column.has_errors ? head.z : head.difference);
  };
  std::ranges::stable_sort(heads, {}, strength);
  heads.resize(std::min(heads.size(), most_moved));
  return heads;
}

std::string pairing_text(const Comparison& comparison) {
  if (comparison.paired) {
    return fmt::format("Both runs measured the same {}, so errors are paired.",
                       counted_text(comparison.documents_a, "document"));
  }
  return "The runs did not measure the same documents, so their errors add.";
}

std::string means_table(const Comparison& comparison) {
  std::vector<TextRow> rows{
      {"column", "heads", "mean a", "mean b", "difference", "se", "p", "moved", "up", "down", "rank correlation"}};
  for (const ColumnComparison& column : comparison.columns) {
    const auto moved = [&](std::size_t count) { return column.has_errors ? fmt::format("{}", count) : "-"; };
    rows.push_back({column.column, fmt::format("{}", column.count), number_text(column.model.a, "{:.4f}"),
                    number_text(column.model.b, "{:.4f}"), number_text(column.model.difference, "{:+.4f}"),
                    number_text(column.model.error, "{:.4f}"), probability_text(column.model.p),
                    moved(column.up + column.down), moved(column.up), moved(column.down),
                    number_text(column.rank_correlation, "{:.3f}")});
  }
  return text_table(rows);
}

std::string layers_text(const ColumnComparison& column, double level) {
  std::vector<TextRow> rows{{"layer", "up", "down"}};
  for (const auto& [layer, moved] : moved_by_layer(column, level)) {
    if (moved.up + moved.down == 0) continue;
    rows.push_back({fmt::format("{}", layer), fmt::format("{}", moved.up), fmt::format("{}", moved.down)});
  }
  if (rows.size() == 1) return {};
  return fmt::format("\n{}: heads that moved (q < {}), by layer\n\n{}", column.column, level, text_table(rows));
}

std::string heads_text(const ColumnComparison& column) {
  const std::vector<HeadDifference> heads = strongest(column);
  if (heads.empty()) return {};
  std::vector<TextRow> rows{{"layer", "q_head", "a", "b", "difference", "se", "z", "q"}};
  for (const HeadDifference& head : heads) {
    rows.push_back({fmt::format("{}", head.head.layer), fmt::format("{}", head.head.q_head),
                    number_text(head.a, "{:.4f}"), number_text(head.b, "{:.4f}"),
                    number_text(head.difference, "{:+.4f}"), number_text(head.error, "{:.4f}"),
                    number_text(head.z, "{:+.1f}"), probability_text(head.q)});
  }
  return fmt::format("\n{}: the heads that changed most{}\n\n{}", column.column,
                     column.has_errors ? ", in units of their error" : "", text_table(rows));
}

Json run_json(const ComparedRun& run) {
  return {{"results", run.folder},
          {"model", value_or_null(run.description.model)},
          {"heads", run.metrics.heads().size()},
          {"groups",
           run.groups
               ? Json{{"count", run.groups->count}, {"examples", run.groups->examples}, {"sha256", run.groups->sha256}}
               : Json(nullptr)}};
}

Json column_json(const ColumnComparison& column, double level) {
  Json layers = Json::array();
  if (column.has_errors) {
    for (const auto& [layer, moved] : moved_by_layer(column, level)) {
      layers.push_back({{"layer", layer}, {"up", moved.up}, {"down", moved.down}});
    }
  }
  return {{"column", column.column},
          {"heads", column.count},
          {"mean_a", column.model.a},
          {"mean_b", column.model.b},
          {"difference", column.model.difference},
          {"se", column.model.error},
          {"z", column.model.z},
          {"p", column.model.p},
          {"up", column.has_errors ? Json(column.up) : Json(nullptr)},
          {"down", column.has_errors ? Json(column.down) : Json(nullptr)},
          {"rank_correlation", column.rank_correlation},
          {"layers", std::move(layers)}};
}

}  // namespace

std::span<const DifferenceColumn> difference_columns() {
  static constexpr std::array<DifferenceColumn, 11> columns{{
      {"layer", "Layer of the head, from 0"},
      {"q_head", "Query head, from 0"},
      {"k_head", "Key head that the query head reads, from 0"},
      {"column", "Column of `head_metrics.csv` that is compared"},
      {"a", "Value in the first run"},
      {"b", "Value in the second run"},
      {"difference", "b − a"},
      {"se", "Standard error of the difference"},
      {"z", "difference / se; empty where se is 0"},
      {"p", "Two-sided probability of such a difference by chance, Student's t"},
      {"q", "p corrected for the number of heads (Benjamini–Hochberg)"},
  }};
  return columns;
}

std::string differences_csv(const Comparison& comparison) {
  std::vector<std::string_view> names;
  names.reserve(difference_columns().size());
  for (const DifferenceColumn& column : difference_columns()) names.push_back(column.name);
  CsvText csv(names);
  for (const ColumnComparison& column : comparison.columns) {
    for (const HeadDifference& head : column.heads) {
      for (const int id : {head.head.layer, head.head.q_head, head.head.k_head}) csv.add(std::int64_t{id});
      csv.add_text(column.column);
      for (const double value : {head.a, head.b, head.difference, head.error, head.z, head.p, head.q}) csv.add(value);
      csv.end_row();
    }
  }
  return std::move(csv).text();
}

std::string comparison_json(const Comparison& comparison, const ComparedRun& a, const ComparedRun& b) {
  Json columns = Json::array();
  for (const ColumnComparison& column : comparison.columns) columns.push_back(column_json(column, comparison.level));
  const Json json{
      {"schema", 1},
      {"a", run_json(a)},
      {"b", run_json(b)},
      {"paired", comparison.paired},
      {"heads", {{"matched", comparison.matched}, {"only_a", comparison.only_a}, {"only_b", comparison.only_b}}},
      {"level", comparison.level},
      {"caveats", comparison.caveats},
      {"columns", std::move(columns)}};
  return json_text(json, 2) + "\n";
}

std::string comparison_table(const Comparison& comparison, const ComparedRun& a, const ComparedRun& b) {
  std::string text = fmt::format("a: {} ({})\nb: {} ({})\n\n{} in both", shown_text(a.folder), shown_text(a.model()),
                                 shown_text(b.folder), shown_text(b.model()), counted_text(comparison.matched, "head"));
  if (comparison.only_a > 0) text += fmt::format(", {} only in a", comparison.only_a);
  if (comparison.only_b > 0) text += fmt::format(", {} only in b", comparison.only_b);
  text += fmt::format(". {}\n\n{}", pairing_text(comparison), means_table(comparison));
  for (const ColumnComparison& column : comparison.columns) {
    if (column.has_errors) text += layers_text(column, comparison.level);
    text += heads_text(column);
  }
  return text;
}

}  // namespace attention_plasticity
