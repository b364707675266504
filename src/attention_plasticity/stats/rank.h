#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attention_plasticity {

// Statistics of order. Each sorts once; values may be infinite and must not be NaN.

/// Which of the distinct values each one is, from 0 for the least.
std::vector<std::size_t> dense_ranks(std::span<const double> values);

/// Places in ascending order from 1; equal values share the mean of their places.
std::vector<double> average_ranks(std::span<const double> values);

/// Spearman's rank correlation: Pearson's of the average ranks, in [-1, 1], exactly 1 or -1 where the orders agree or
/// are opposite. NaN for fewer than two pairs and where x or y has no spread. Throws Error(usage) for different sizes.
double spearman(std::span<const double> x, std::span<const double> y);

/// The chance that a positive lies above a negative, ties counting half: the area under the ROC curve, which is the
/// statistic of Mann & Whitney (1947) over the number of pairs. NaN if either is empty.
double roc_area(std::span<const double> positives, std::span<const double> negatives);

}  // namespace attention_plasticity
