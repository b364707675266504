#include "attention_plasticity/study/validation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "attention_plasticity/json/json.h"

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

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

using TextRow = std::vector<std::string>;

// All rows have the same number of fields; each column is as wide as its widest field.
std::string aligned(const std::vector<TextRow>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const TextRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const TextRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += padded(row[i], widths[i]) + "  ";
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

TextRow header(std::string name, const Validation& validation) {
  TextRow row{std::move(name)};
  row.insert(row.end(), validation.measures.begin(), validation.measures.end());
  return row;
}

std::string shortest(double value) {
  if (std::isnan(value)) return {};
  std::array<char, 32> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), written.ptr};
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string csv_row(const char* statistic, const Agreement& agreement) {
  return fmt::format("{},{},{},{},{},{},{}\n", statistic, csv_field(agreement.label), csv_field(agreement.measure),
                     shortest(agreement.value), shortest(agreement.interval.low), shortest(agreement.interval.high),
                     agreement.heads);
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
  text += aligned(rows);
  if (!validation.contrast) return text;
  const HeadContrast& contrast = *validation.contrast;
  text += fmt::format("\nArea under the ROC curve: {} ({} heads) above {} ({} heads)\n", contrast.positive,
                      contrast.positives, contrast.negative, contrast.negatives);
  rows = {header("", validation), {"AUC"}};
  for (const Agreement& area : contrast.areas) rows.back().push_back(cell(area, false));
  // The columns are aligned with those of the table above.
  std::size_t widest = std::string_view("Spearman").size();
  for (const std::string& label : validation.labels) widest = std::max(widest, label.size());
  for (TextRow& row : rows) row.front() = padded(row.front(), widest);
  return text + aligned(rows);
}

std::string validation_csv(const Validation& validation) {
  std::string text = "statistic,label,measure,value,low,high,heads\n";
  for (const Agreement& agreement : validation.correlations) text += csv_row("spearman", agreement);
  if (validation.contrast) {
    for (const Agreement& area : validation.contrast->areas) text += csv_row("auc", area);
  }
  return text;
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
