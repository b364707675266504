#include "attention_plasticity/report/comparison_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "attention_plasticity/compare/comparison.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/report/block_json.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {
namespace {

// In one line, with the file at fault.
std::string problem_text(const Error& error) {
  return error.file().empty() ? error.what() : fmt::format("{}: {}", error.file(), error.what());
}

// Columns of heads whose differences say something: not the numbers of samples, and not the errors of other columns.
bool is_compared(std::string_view column) {
  const ResultColumn* known = result_table(TableId::metrics).find(column);
  return known == nullptr || (known->counts.empty() && known->error_of.empty());
}

std::vector<std::string> common_columns(const std::vector<const ComparedRun*>& runs) {
  std::vector<std::string> columns;
  for (const std::string_view column : runs.front()->metrics.measures()) {
    const bool everywhere = std::ranges::all_of(runs, [&](const ComparedRun* run) { return run->metrics.has(column); });
    if (everywhere && is_compared(column)) columns.emplace_back(column);
  }
  return columns;
}

Json values_json(const ColumnComparison& column, double HeadDifference::* member, PackedBlocks& blocks) {
  std::vector<double> values(column.heads.size());
  std::ranges::transform(column.heads, values.begin(), [&](const HeadDifference& head) { return head.*member; });
  return block_json(blocks.add_exact(values));
}

Json column_json(const ColumnComparison& column, PackedBlocks& blocks) {
  Json json{{"name", column.column},
            {"has_errors", column.has_errors},
            {"count", column.count},
            {"up", column.up},
            {"down", column.down},
            {"rank_correlation", column.rank_correlation},
            {"model",
             {{"a", column.model.a},
              {"b", column.model.b},
              {"difference", column.model.difference},
              {"se", column.model.error},
              {"p", column.model.p}}},
            {"difference", values_json(column, &HeadDifference::difference, blocks)}};
  if (!column.has_errors) return json;
  json["se"] = values_json(column, &HeadDifference::error, blocks);
  json["z"] = values_json(column, &HeadDifference::z, blocks);
  json["p"] = values_json(column, &HeadDifference::p, blocks);
  json["q"] = values_json(column, &HeadDifference::q, blocks);
  return json;
}

Json compared_json(const ComparedRun& a, const ComparedRun& b, double level, PackedBlocks& blocks,
                   std::vector<std::string>& warnings) {
  const Comparison comparison = compare(a, b, {common_columns({&a, &b}), level});
  warnings.insert(warnings.end(), comparison.caveats.begin(), comparison.caveats.end());
  std::vector<HeadId> heads;
  if (!comparison.columns.empty()) {
    const std::vector<HeadDifference>& of_column = comparison.columns.front().heads;
    std::ranges::transform(of_column, std::back_inserter(heads), &HeadDifference::head);
  }
  Json columns = Json::array();
  for (const ColumnComparison& column : comparison.columns) columns.push_back(column_json(column, blocks));
  return {{"paired", comparison.paired},   {"documents", {comparison.documents_a, comparison.documents_b}},
          {"matched", comparison.matched}, {"only_a", comparison.only_a},
          {"only_b", comparison.only_b},   {"level", comparison.level},
          {"caveats", comparison.caveats}, {"heads", heads_json(heads, blocks)},
          {"columns", std::move(columns)}};
}

// One column of a series: the model's means with errors, and for the measures of a whole model each head's crossings.
Json column_json(const ColumnSeries& column, PackedBlocks& blocks) {
  std::vector<double> means(column.model.size());
  std::vector<double> errors(column.model.size());
  std::ranges::transform(column.model, means.begin(), &SeriesPoint::value);
  std::ranges::transform(column.model, errors.begin(), &SeriesPoint::error);
  Json json{{"name", column.column}, {"count", column.count}, {"mean", means}, {"se", errors}};
  const auto headline = headline_measures();
  if (std::ranges::find(headline, column.column) == headline.end()) return json;
  std::vector<int> crossings;
  for (const HeadSeries& head : column.heads) {
    std::ranges::transform(head.points, std::back_inserter(crossings), &SeriesPoint::crossing);
  }
  json["crossings"] = block_json(blocks.add_integers(crossings));
  return json;
}

}  // namespace

PageRun read_page_run(const std::filesystem::path& results) {
  try {
    std::vector<std::string> notes;  // the page's own reading of the run tells them
    return {read_compared_run(results, notes), ""};
  } catch (const Error& error) {
    return {std::nullopt, problem_text(error)};
  }
}

std::vector<RunPair> pairs_of_page(std::size_t runs) {
  std::vector<RunPair> pairs;
  for (std::size_t b = 1; b < runs; ++b) {
    pairs.push_back({0, b});
    if (b > 1) pairs.push_back({b - 1, b});
  }
  return pairs;
}

Json comparison_data(const std::vector<PageRun>& runs, const RunPair& pair, double level, PackedBlocks& blocks,
                     std::vector<std::string>& warnings) {
  Json json{{"a", pair.a}, {"b", pair.b}, {"problem", nullptr}};
  const PageRun& a = runs[pair.a];
  const PageRun& b = runs[pair.b];
  std::string problem = a.problem.empty() ? b.problem : a.problem;
  if (a.compared && b.compared) {
    try {
      json.update(compared_json(*a.compared, *b.compared, level, blocks, warnings));
      return json;
    } catch (const Error& error) {
      problem = problem_text(error);
    }
  }
  json["problem"] = problem;
  warnings.push_back(std::move(problem));
  return json;
}

Json series_data(std::vector<PageRun>&& runs, const SeriesAxis& axis, const SeriesOptions& options,
                 PackedBlocks& blocks) {
  std::vector<ComparedRun> compared;
  compared.reserve(runs.size());
  for (PageRun& run : runs) {
    if (!run.compared) return nullptr;
    compared.push_back(std::move(*run.compared));
  }
  std::vector<const ComparedRun*> places(compared.size());
  std::ranges::transform(compared, places.begin(), [](const ComparedRun& run) { return &run; });
  try {
    const Series series = make_series(compared, axis, {common_columns(places), options.level, options.threshold});
    std::vector<HeadId> heads;
    if (!series.columns.empty()) {
      std::ranges::transform(series.columns.front().heads, std::back_inserter(heads), &HeadSeries::head);
    }
    Json columns = Json::array();
    for (const ColumnSeries& column : series.columns) columns.push_back(column_json(column, blocks));
    return {{"x", series.axis.name},       {"values", series.axis.values},       {"threshold", series.threshold},
            {"left_out", series.left_out}, {"heads", heads_json(heads, blocks)}, {"columns", std::move(columns)}};
  } catch (const Error& error) {
    // Runs of other shapes: the comparisons say so. A wrong axis is the user's to correct.
    if (error.kind() == ErrorKind::usage) throw;
    return nullptr;
  }
}

}  // namespace attention_plasticity
