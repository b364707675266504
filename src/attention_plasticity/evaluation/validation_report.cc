#include "attention_plasticity/evaluation/validation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "attention_plasticity/base/text_table.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {
namespace {

std::string cell(const Agreement& agreement, bool is_signed) {
  if (std::isnan(agreement.value)) return "-";
  // A correlation of -0.001 is shown as -0.00, because its sign is worth knowing.
  const auto number = [&](double value) {
    return is_signed ? fmt::format("{:+.2f}", value) : fmt::format("{:.2f}", value);
  };
  if (std::isnan(agreement.interval.low)) return number(agreement.value);
  return fmt::format("{} [{}, {}]", number(agreement.value), number(agreement.interval.low),
                     number(agreement.interval.high));
}

TextRow header(std::string name, const Validation& validation) {
  TextRow row{std::move(name)};
  row.insert(row.end(), validation.measures.begin(), validation.measures.end());
  return row;
}

void add_row(CsvText& csv, std::string_view statistic, const Agreement& agreement) {
  csv.add_text(statistic);
  csv.add_text(agreement.label);
  csv.add_text(agreement.measure);
  csv.add(agreement.value);
  csv.add(agreement.interval.low);
  csv.add(agreement.interval.high);
  csv.add(std::uint64_t{agreement.heads});
  csv.end_row();
}

Json agreement_json(const Agreement& agreement) {
  return {{"label", agreement.label},      {"measure", agreement.measure},    {"value", agreement.value},
          {"low", agreement.interval.low}, {"high", agreement.interval.high}, {"heads", agreement.heads}};
}

Json contrast_json(const std::optional<HeadContrast>& contrast) {
  if (!contrast) return nullptr;
  Json areas = Json::array();
  for (const Agreement& area : contrast->areas) areas.push_back(agreement_json(area));
  return {{"positive", contrast->positive},
          {"negative", contrast->negative},
          {"positives", contrast->positives},
          {"negatives", contrast->negatives},
          {"measures", std::move(areas)}};
}

}  // namespace

std::string validation_table(const Validation& validation, const BootstrapOptions& bootstrap) {
  std::string text = fmt::format("{} heads joined", validation.joined);
  if (validation.only_labelled > 0) {
    text += fmt::format("; {} labelled heads are not in the metrics", validation.only_labelled);
  }
  if (validation.only_measured > 0) text += fmt::format("; {} measured heads have no label", validation.only_measured);
  text += bootstrap.resamples > 0 ? fmt::format("\nintervals: {:g}% over heads, {} resamples\n\n",
                                                100 * bootstrap.confidence, bootstrap.resamples)
                                  : "\n\n";
  std::vector<TextRow> rows{header("Spearman", validation)};
  for (std::size_t label = 0; label < validation.labels.size(); ++label) {
    TextRow row{validation.labels[label]};
    for (std::size_t i = 0; i < validation.measures.size(); ++i) {
      row.push_back(cell(validation.correlations[label * validation.measures.size() + i], true));
    }
    rows.push_back(std::move(row));
  }
  text += text_table(rows);
  if (!validation.contrast) return text;
  const HeadContrast& contrast = *validation.contrast;
  text += fmt::format("\nArea under the ROC curve: {} ({} heads) above {} ({} heads)\n", contrast.positive,
                      contrast.positives, contrast.negative, contrast.negatives);
  rows = {header("", validation), {"AUC"}};
  for (const Agreement& area : contrast.areas) rows.back().push_back(cell(area, false));
  // The columns are aligned with those of the table above.
  std::size_t widest = std::string_view("Spearman").size();
  for (const std::string& label : validation.labels) widest = std::max(widest, label.size());
  for (TextRow& row : rows) row.front().resize(widest, ' ');
  return text + text_table(rows);
}

std::string validation_csv(const Validation& validation) {
  constexpr std::array<std::string_view, 7> columns{"statistic", "label", "measure", "value", "low", "high", "heads"};
  CsvText csv(columns);
  for (const Agreement& agreement : validation.correlations) add_row(csv, "spearman", agreement);
  if (validation.contrast) {
    for (const Agreement& area : validation.contrast->areas) add_row(csv, "auc", area);
  }
  return std::move(csv).text();
}

std::string validation_json(const Validation& validation, const BootstrapOptions& bootstrap, const std::string& metrics,
                            const std::string& labels) {
  Json correlations = Json::array();
  for (const Agreement& agreement : validation.correlations) correlations.push_back(agreement_json(agreement));
  const Json json{
      {"metrics", metrics},
      {"labels", labels},
      {"heads",
       {{"joined", validation.joined},
        {"only_labelled", validation.only_labelled},
        {"only_measured", validation.only_measured}}},
      {"bootstrap",
       {{"seed", bootstrap.seed}, {"resamples", bootstrap.resamples}, {"confidence", bootstrap.confidence}}},
      {"spearman", std::move(correlations)},
      {"auc", contrast_json(validation.contrast)},
      {"notes", validation.notes}};
  return json_text(json, 2) + "\n";
}

}  // namespace attention_plasticity
