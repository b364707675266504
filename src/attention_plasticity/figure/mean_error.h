#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {

/// The value of one head in a mean over heads: its weight, and its standard error over documents.
struct HeadError {
  std::pair<int, int> head;  ///< layer and query head
  double weight = 1;         ///< > 0
  double error = 0;          ///< NaN: unknown
};

/// Standard errors over documents of position-exact means over heads.
///
/// A table by bucket has the error of every head, but not that of their mean: heads share documents, so that their
/// errors are neither independent nor equal. The weighted mean of the heads' errors is an upper bound, whatever their
/// correlation. head_groups.csv shows how far below the bound the error of a mean lies: it has the values of whole
/// heads without each group of documents, which give both the error of their mean and the bound. The same share of the
/// bound is taken in every bucket. docs/figures.md has measurements.
class MeanError {
 public:
  MeanError() = default;  ///< gives the upper bound
  /// `groups` is head_groups.csv. Values of ap_exact that are missing leave their heads out.
  explicit MeanError(const CsvTable& groups);

  /// The error of the weighted mean. Heads without an error are left out, as if theirs were like the others'. For one
  /// head it is that head's error. NaN when no head has an error.
  double of(std::span<const HeadError> heads) const;
  /// Whether `of` can only give the upper bound.
  bool is_bound() const { return without_group_.empty(); }

 private:
  double share_of_bound(std::span<const HeadError> heads) const;

  std::map<std::pair<int, int>, std::vector<double>> without_group_;  // by head; the values of ap_exact, by group
};

}  // namespace attention_plasticity
