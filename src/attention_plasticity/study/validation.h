#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/study/bootstrap.h"
#include "attention_plasticity/study/head_labels.h"
#include "attention_plasticity/results/head_metrics.h"

namespace attention_plasticity {

struct ValidationOptions {
  std::vector<std::string> measures;    ///< columns of the metrics; empty: those of default_measures that they have
  std::optional<std::string> positive;  ///< a condition on the labels (parse_label_condition): who should lie above
  std::optional<std::string> negative;  ///< and who below; both or neither
  BootstrapOptions bootstrap;
};

/// How a measure goes with a label, or parts two kinds of heads.
struct Agreement {
  std::string label;  ///< of a contrast: the two conditions
  std::string measure;
  double value = std::numeric_limits<double>::quiet_NaN();  ///< NaN where it does not exist
  BootstrapInterval interval;
  std::size_t heads = 0;  ///< that have both values
};

/// The area under the ROC curve of each measure, for heads that meet one condition against those that meet another.
struct HeadContrast {
  std::string positive;
  std::string negative;
  std::size_t positives = 0;
  std::size_t negatives = 0;
  std::vector<Agreement> areas;  ///< by measure
};

struct Validation {
  std::size_t joined = 0;         ///< query heads that are in the metrics and have labels
  std::size_t only_labelled = 0;  ///< labelled heads (KV heads where the labels are of those) not in the metrics
  std::size_t only_measured = 0;  ///< query heads without labels
  std::vector<std::string> measures;
  std::vector<std::string> labels;
  std::vector<Agreement> correlations;  ///< Spearman's, label by label and measure by measure
  std::optional<HeadContrast> contrast;
  std::vector<std::string> notes;  ///< for the user
};

/// The columns that the schema offers to validation.
std::vector<std::string_view> default_measures();

/// Sets what was measured of heads against what is known of them. Heads are joined by layer and query head; a label of
/// a KV head holds for every query head that reads it. A head with no value of a measure or label is left out of that
/// pair. Throws Error(usage), with the nearest name, for an unknown measure or label, and for a condition that no head
/// meets; Error(input) when no head is in both files or the metrics have none of the measures.
Validation validate(const HeadMetrics& metrics, const HeadLabels& labels, const ValidationOptions& options);

}  // namespace attention_plasticity
