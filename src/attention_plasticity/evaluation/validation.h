#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/evaluation/bootstrap.h"
#include "attention_plasticity/evaluation/head_labels.h"
#include "attention_plasticity/results/head_tables.h"

namespace attention_plasticity {

struct ValidationOptions {
  std::vector<std::string> measures;    ///< columns of the metrics; empty: all default_measures() that the metrics have
  std::optional<std::string> positive;  ///< condition (parse_label_condition) for heads that should have high values
  std::optional<std::string> negative;  ///< condition for heads that should have low values; give both or neither
  BootstrapOptions bootstrap;
};

/// How well a measure agrees with a label, or separates two kinds of heads.
struct Agreement {
  std::string label;  ///< the label, or the two conditions of a contrast
  std::string measure;
  double value = std::numeric_limits<double>::quiet_NaN();  ///< in [-1, 1]; of a contrast in [0, 1]; NaN: undefined
  BootstrapInterval interval;
  std::size_t heads = 0;  ///< number of heads that have both values
};

/// How well each measure separates heads that meet one condition from heads that meet another: areas under the ROC
/// curve.
struct HeadContrast {
  std::string positive;
  std::string negative;
  std::size_t positives = 0;
  std::size_t negatives = 0;
  std::vector<Agreement> areas;  ///< by measure
};

struct Validation {
  std::size_t joined = 0;         ///< query heads that are in the metrics and have labels
  std::size_t only_labelled = 0;  ///< labelled heads (query heads or KV heads) that are not in the metrics
  std::size_t only_measured = 0;  ///< query heads without labels
  std::vector<std::string> measures;
  std::vector<std::string> labels;
  std::vector<Agreement> correlations;  ///< Spearman's, by label and then by measure
  std::optional<HeadContrast> contrast;
  std::vector<std::string> notes;  ///< for the user
};

/// The columns that the schema offers to validation.
std::vector<std::string_view> default_measures();

/// Compares measures of heads with labels of heads. Heads are joined by layer and query head; a label of a KV head
/// holds for every query head that reads it. A head without a value of a measure or label is left out of that pair.
/// Throws Error(usage), with the nearest name, for an unknown measure or label, and for a condition that no head meets.
/// Throws Error(input) when no head is in both files or the metrics have none of the measures.
Validation validate(const HeadMetrics& metrics, const HeadLabels& labels, const ValidationOptions& options);

}  // namespace attention_plasticity
