#include "attention_plasticity/evaluation/validation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/evaluation/label_condition.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/stats/quantile.h"
#include "attention_plasticity/stats/rank.h"

namespace attention_plasticity {
namespace {

// The heads that are in both files, and their columns.
struct JoinedHeads {
  struct Column {
    std::string name;
    std::vector<double> values;
  };

  std::size_t count = 0;
  std::vector<Column> labels;
  std::vector<Column> measures;
};

std::vector<std::string> chosen_measures(const HeadMetrics& metrics, const ValidationOptions& options,
                                         std::vector<std::string>& notes) {
  if (!options.measures.empty()) return options.measures;
  std::vector<std::string> present;
  std::vector<std::string_view> absent;
  bool exact_is_absent = false;
  for (const std::string_view name : default_measures()) {
    if (metrics.has(name)) {
      present.emplace_back(name);
    } else {
      absent.push_back(name);
      exact_is_absent = exact_is_absent || result_table(TableId::metrics).find(name)->needs == Needs::exact;
    }
  }
  if (present.empty()) {
    throw Error(
        ErrorKind::input,
        fmt::format("has none of the columns {}; choose others with `columns`", fmt::join(default_measures(), ", ")),
        metrics.file());
  }
  if (!absent.empty()) {
    notes.push_back(fmt::format(
        "{}: has no {}{}", metrics.file(), fmt::join(absent, ", "),
        exact_is_absent ? "; ap_exact and the logits are measured only when the model's rotation is known" : ""));
  }
  return present;
}

// Pairs of rows that belong to the same head: one of the metrics, one of the labels.
std::vector<std::pair<std::size_t, std::size_t>> join(const HeadMetrics& metrics, const HeadLabels& labels,
                                                      Validation& result) {
  const LabelFit fit = fit_labels(labels, metrics.heads(), std::nullopt, metrics.file());
  result.joined = fit.joined;
  result.only_labelled = fit.only_labelled;
  result.only_measured = fit.only_measured;
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  pairs.reserve(fit.joined);
  for (std::size_t row = 0; row < metrics.heads().size(); ++row) {
    if (const auto place = labels.find(metrics.heads()[row])) pairs.emplace_back(row, *place);
  }
  return pairs;
}

void note_gaps(const JoinedHeads::Column& column, std::vector<std::string>& notes) {
  const auto gaps = std::ranges::count_if(column.values, [](double value) { return std::isnan(value); });
  if (gaps > 0) {
    notes.push_back(fmt::format("{} has no value for {} of {} heads, which are left out of its figures", column.name,
                                gaps, column.values.size()));
  }
}

JoinedHeads joined_columns(const HeadMetrics& metrics, const HeadLabels& labels, const ValidationOptions& options,
                           Validation& result) {
  const std::vector<std::string> names = chosen_measures(metrics, options, result.notes);
  const auto pairs = join(metrics, labels, result);
  JoinedHeads joined{pairs.size(), {}, {}};
  for (const HeadLabel& label : labels.labels) {
    JoinedHeads::Column column{label.name, {}};
    for (const auto& [unused, row] : pairs) column.values.push_back(label.values[row]);
    note_gaps(column, result.notes);
    joined.labels.push_back(std::move(column));
  }
  for (const std::string& name : names) {
    const std::vector<double> all = metrics.values(name);
    JoinedHeads::Column column{name, {}};
    for (const auto& [row, unused] : pairs) column.values.push_back(all[row]);
    note_gaps(column, result.notes);
    joined.measures.push_back(std::move(column));
  }
  return joined;
}

Agreement correlate(const JoinedHeads::Column& label, const JoinedHeads::Column& measure,
                    const BootstrapOptions& bootstrap) {
  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t i = 0; i < label.values.size(); ++i) {
    if (std::isnan(label.values[i]) || std::isnan(measure.values[i])) continue;
    x.push_back(label.values[i]);
    y.push_back(measure.values[i]);
  }
  Agreement agreement{label.name, measure.name, spearman(x, y), {}, x.size()};
  if (!std::isnan(agreement.value)) agreement.interval = bootstrap_spearman(x, y, bootstrap);
  return agreement;
}

const JoinedHeads::Column& label_named(const JoinedHeads& heads, const std::string& name) {
  const auto found = std::ranges::find(heads.labels, name, &JoinedHeads::Column::name);
  if (found != heads.labels.end()) return *found;
  std::vector<std::string_view> names(heads.labels.size());
  std::ranges::transform(heads.labels, names.begin(), &JoinedHeads::Column::name);
  const auto nearest = nearest_name(name, names);
  throw Error(ErrorKind::usage, fmt::format("{} is not a label; {}", quoted_text(name),
                                            nearest ? fmt::format("did you mean {}?", *nearest)
                                                    : fmt::format("there are {}", fmt::join(names, ", "))));
}

std::vector<bool> heads_meeting(const LabelCondition& condition, const JoinedHeads& heads) {
  std::vector<bool> meet(heads.count);
  for (const LabelComparison& comparison : condition.any_of) {
    const std::vector<double>& values = label_named(heads, comparison.label).values;
    for (std::size_t i = 0; i < heads.count; ++i) meet[i] = meet[i] || comparison.holds(values[i]);
  }
  return meet;
}

std::string distribution(const JoinedHeads::Column& label) {
  std::vector<double> values;
  std::ranges::copy_if(label.values, std::back_inserter(values), [](double value) { return !std::isnan(value); });
  if (values.empty()) return fmt::format("{} has no values", label.name);
  std::ranges::sort(values);
  return fmt::format("the largest {} is {:.4g}, the median {:.4g}, the smallest {:.4g}", label.name, values.back(),
                     median(values), values.front());
}

void refuse_if_empty(const LabelCondition& condition, const std::vector<bool>& meet, const JoinedHeads& heads) {
  if (std::ranges::find(meet, true) != meet.end()) return;
  std::set<std::string> told;
  for (const LabelComparison& comparison : condition.any_of) {
    told.insert(distribution(label_named(heads, comparison.label)));
  }
  throw Error(ErrorKind::usage,
              fmt::format("none of the {} heads meets {}: {}", heads.count, condition.text, fmt::join(told, "; ")));
}

Agreement separate(const JoinedHeads::Column& measure, const std::vector<bool>& positive,
                   const std::vector<bool>& negative, const HeadContrast& contrast, const BootstrapOptions& bootstrap) {
  std::vector<double> above;
  std::vector<double> below;
  for (std::size_t i = 0; i < measure.values.size(); ++i) {
    if (std::isnan(measure.values[i])) continue;
    if (positive[i]) above.push_back(measure.values[i]);
    if (negative[i]) below.push_back(measure.values[i]);
  }
  return {fmt::format("{} above {}", contrast.positive, contrast.negative), measure.name, roc_area(above, below),
          bootstrap_roc_area(above, below, bootstrap), above.size() + below.size()};
}

HeadContrast contrast_of(const JoinedHeads& heads, const LabelCondition& above, const LabelCondition& below,
                         const BootstrapOptions& bootstrap, std::vector<std::string>& notes) {
  std::vector<bool> positive = heads_meeting(above, heads);
  std::vector<bool> negative = heads_meeting(below, heads);
  refuse_if_empty(above, positive, heads);
  refuse_if_empty(below, negative, heads);
  std::size_t both = 0;
  for (std::size_t i = 0; i < heads.count; ++i) {
    if (!positive[i] || !negative[i]) continue;
    positive[i] = negative[i] = false;
    ++both;
  }
  HeadContrast contrast{above.text, below.text, 0, 0, {}};
  contrast.positives = static_cast<std::size_t>(std::ranges::count(positive, true));
  contrast.negatives = static_cast<std::size_t>(std::ranges::count(negative, true));
  if (contrast.positives == 0 || contrast.negatives == 0) {
    throw Error(ErrorKind::usage, fmt::format("every head that meets {} also meets {}, and counts on neither side",
                                              contrast.positives == 0 ? above.text : below.text,
                                              contrast.positives == 0 ? below.text : above.text));
  }
  if (both > 0) {
    notes.push_back(
        fmt::format("{} heads meet both {} and {}, and count on neither side", both, above.text, below.text));
  }
  for (const JoinedHeads::Column& measure : heads.measures) {
    contrast.areas.push_back(separate(measure, positive, negative, contrast, bootstrap));
  }
  return contrast;
}

}  // namespace

std::vector<std::string_view> default_measures() {
  std::vector<std::string_view> names;
  for (const ResultColumn& column : result_table(TableId::metrics).columns) {
    if (column.in_validation) names.push_back(column.name);
  }
  return names;
}

Validation validate(const HeadMetrics& metrics, const HeadLabels& labels, const ValidationOptions& options) {
  if (options.positive.has_value() != options.negative.has_value()) {
    throw Error(ErrorKind::usage,
                fmt::format("{} needs {} beside it: two kinds of heads are set against each other",
                            options.positive ? "positive" : "negative", options.positive ? "negative" : "positive"));
  }
  Validation result;
  result.notes = labels.notes;
  const JoinedHeads heads = joined_columns(metrics, labels, options, result);
  for (const JoinedHeads::Column& measure : heads.measures) result.measures.push_back(measure.name);
  if (options.positive && options.negative) {
    result.contrast = contrast_of(heads, parse_label_condition(*options.positive),
                                  parse_label_condition(*options.negative), options.bootstrap, result.notes);
  }
  for (const JoinedHeads::Column& label : heads.labels) {
    result.labels.push_back(label.name);
    for (const JoinedHeads::Column& measure : heads.measures) {
      result.correlations.push_back(correlate(label, measure, options.bootstrap));
    }
  }
  return result;
}

}  // namespace attention_plasticity
