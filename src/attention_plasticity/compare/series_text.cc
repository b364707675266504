#include "attention_plasticity/compare/series_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_table.h"
#include "attention_plasticity/compare/number_text.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t most_listed = 20;

// A head that crosses the threshold in a run.
struct Crossing {
  const HeadSeries* head;
  std::size_t run;
};

std::vector<Crossing> crossings(const ColumnSeries& column) {
  std::vector<Crossing> all;
  for (const HeadSeries& head : column.heads) {
    for (std::size_t run = 0; run < head.points.size(); ++run) {
      if (head.points[run].crossing != 0) all.push_back({&head, run});
    }
  }
  std::ranges::stable_sort(all, {}, &Crossing::run);
  return all;
}

// Heads that changed from the run before.
struct Changed {
  std::size_t up = 0;
  std::size_t down = 0;
  std::size_t above = 0;  // heads at or above the threshold
};

Changed changed_in(const ColumnSeries& column, std::size_t run, const Series& series) {
  Changed changed;
  for (const HeadSeries& head : column.heads) {
    const SeriesPoint& point = head.points[run];
    if (point.value >= series.threshold) ++changed.above;
    if (has_moved(point.change, series.level)) ++(point.change.difference > 0 ? changed.up : changed.down);
  }
  return changed;
}

std::string crossing_text(const SeriesPoint& point) { return point.crossing > 0 ? "up" : "down"; }

std::string model_table(const ColumnSeries& column, const Series& series) {
  std::vector<TextRow> rows{
      {series.axis.name, "mean", "se", "change", "se", "p", "up", "down", fmt::format(">= {}", series.threshold)}};
  for (std::size_t run = 0; run < column.model.size(); ++run) {
    const SeriesPoint& point = column.model[run];
    const Changed changed = changed_in(column, run, series);
    const auto count = [&](std::size_t heads) {
      return run > 0 && column.has_errors ? fmt::format("{}", heads) : std::string("-");
    };
    rows.push_back({fmt::format("{}", series.axis.values[run]), number_text(point.value, "{:.4f}"),
                    number_text(point.error, "{:.4f}"), number_text(point.change.difference, "{:+.4f}"),
                    number_text(point.change.error, "{:.4f}"), probability_text(point.change.p), count(changed.up),
                    count(changed.down), fmt::format("{}", changed.above)});
  }
  return text_table(rows);
}

std::string crossing_table(const ColumnSeries& column, const Series& series) {
  const std::vector<Crossing> all = crossings(column);
  if (all.empty()) return {};
  std::vector<TextRow> rows{{series.axis.name, "layer", "q_head", "crosses", "before", "after"}};
  for (std::size_t i = 0; i < std::min(all.size(), most_listed); ++i) {
    const auto& [head, run] = all[i];
    rows.push_back({fmt::format("{}", series.axis.values[run]), fmt::format("{}", head->head.layer),
                    fmt::format("{}", head->head.q_head), crossing_text(head->points[run]),
                    number_text(head->points[run - 1].value, "{:.4f}"),
                    number_text(head->points[run].value, "{:.4f}")});
  }
  const std::string title =
      fmt::format("{} crosses {}{}", column.column, series.threshold,
                  all.size() > most_listed ? fmt::format(", the first {} of {} times", most_listed, all.size()) : "");
  return fmt::format("\n{}\n\n{}", title, text_table(rows));
}

Json column_json(const ColumnSeries& column, const Series& series) {
  Json runs = Json::array();
  for (std::size_t run = 0; run < column.model.size(); ++run) {
    const SeriesPoint& point = column.model[run];
    const Changed changed = changed_in(column, run, series);
    const bool has_change = run > 0 && column.has_errors;
    runs.push_back({{"mean", point.value},
                    {"se", point.error},
                    {"change", point.change.difference},
                    {"change_se", point.change.error},
                    {"p", point.change.p},
                    {"up", has_change ? Json(changed.up) : Json(nullptr)},
                    {"down", has_change ? Json(changed.down) : Json(nullptr)},
                    {"above", changed.above}});
  }
  Json crossed = Json::array();
  for (const auto& [head, run] : crossings(column)) {
    crossed.push_back({{"layer", head->head.layer},
                       {"q_head", head->head.q_head},
                       {"run", run},
                       {"x", series.axis.values[run]},
                       {"direction", crossing_text(head->points[run])}});
  }
  return {
      {"column", column.column}, {"heads", column.count}, {"runs", std::move(runs)}, {"crossings", std::move(crossed)}};
}

}  // namespace

std::span<const DifferenceColumn> series_columns() {
  static constexpr std::array<DifferenceColumn, 14> columns{{
      {"layer", "Layer of the head, from 0"},
      {"q_head", "Query head, from 0"},
      {"k_head", "Key head that the query head reads, from 0"},
      {"column", "Column of `head_metrics.csv`"},
      {"run", "Number of the run in the series, from 0"},
      {"x", "What orders the runs, such as the step of a training"},
      {"value", "Value in this run"},
      {"se", "Its standard error"},
      {"change", "Value less that in the run before"},
      {"change_se", "Standard error of the change"},
      {"z", "change / change_se; empty where change_se is 0"},
      {"p", "Two-sided probability of such a change by chance, Student's t"},
      {"q", "p corrected for the number of heads (Benjamini–Hochberg)"},
      {"crossing", "1: the value reaches the threshold from below in this run; −1: it falls below it; 0: neither"},
  }};
  return columns;
}

std::string series_csv(const Series& series) {
  std::vector<std::string_view> names;
  names.reserve(series_columns().size());
  for (const DifferenceColumn& column : series_columns()) names.push_back(column.name);
  CsvText csv(names);
  for (const ColumnSeries& column : series.columns) {
    for (const HeadSeries& head : column.heads) {
      for (std::size_t run = 0; run < head.points.size(); ++run) {
        const SeriesPoint& point = head.points[run];
        for (const int id : {head.head.layer, head.head.q_head, head.head.k_head}) csv.add(std::int64_t{id});
        csv.add_text(column.column);
        csv.add(std::uint64_t{run});
        const HeadDifference& change = point.change;
        for (const double value : {series.axis.values[run], point.value, point.error, change.difference, change.error,
                                   change.z, change.p, change.q}) {
          csv.add(value);
        }
        csv.add(std::int64_t{point.crossing});
        csv.end_row();
      }
    }
  }
  return std::move(csv).text();
}

std::string series_json(const Series& series, std::span<const ComparedRun> runs) {
  Json described = Json::array();
  for (std::size_t run = 0; run < series.order.size(); ++run) {
    const ComparedRun& of_run = runs[series.order[run]];
    described.push_back({{"results", of_run.folder},
                         {"model", value_or_null(of_run.description.model)},
                         {"x", series.axis.values[run]},
                         {"paired", run > 0 ? Json(bool{series.paired[run]}) : Json(nullptr)}});
  }
  Json columns = Json::array();
  for (const ColumnSeries& column : series.columns) columns.push_back(column_json(column, series));
  const Json json{{"schema", 1},
                  {"x", series.axis.name},
                  {"level", series.level},
                  {"threshold", series.threshold},
                  {"runs", std::move(described)},
                  {"caveats", series.caveats},
                  {"columns", std::move(columns)}};
  return json_text(json, 2) + "\n";
}

std::string series_table(const Series& series, std::span<const ComparedRun> runs) {
  std::string text;
  for (std::size_t run = 0; run < series.order.size(); ++run) {
    text += fmt::format("{} {}: {}\n", series.axis.name, series.axis.values[run],
                        shown_text(runs[series.order[run]].folder));
  }
  const std::size_t steps = series.paired.size() - 1;
  const auto paired = static_cast<std::size_t>(std::ranges::count(series.paired, true));
  text += paired == steps ? "\nNeighbouring runs measured the same documents, so errors of changes are paired.\n"
                          : fmt::format(
                                "\n{} of {} neighbouring pairs of runs measured the same documents; for the "
                                "others errors add.\n",
                                paired, steps);
  if (series.left_out > 0)
    text += fmt::format("{} not in every run, left out.\n", counted_text(series.left_out, "head"));
  for (const ColumnSeries& column : series.columns) {
    text += fmt::format("\n{}: mean over {}, and how many changed from the run before (q < {})\n\n{}", column.column,
                        counted_text(column.count, "head"), series.level, model_table(column, series));
    text += crossing_table(column, series);
  }
  return text;
}

}  // namespace attention_plasticity
