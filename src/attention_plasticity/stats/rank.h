#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attention_plasticity {

// Rank statistics. Each function sorts once. Values may be infinite but must not be NaN.

/// The rank of each value among the distinct values; 0 for the smallest.
std::vector<std::size_t> dense_ranks(std::span<const double> values);

/// The rank of each value in ascending order, from 1. Equal values share the mean of their ranks.
std::vector<double> average_ranks(std::span<const double> values);

/// Spearman's rank correlation: Pearson's correlation of the average ranks, in [-1, 1]. Exactly 1 or -1 if the orders
/// agree or are opposite. NaN for fewer than two pairs, and if x or y has no spread. Throws Error(usage) if the sizes
/// differ.
double spearman(std::span<const double> x, std::span<const double> y);

/// The probability that a random positive is above a random negative, where a tie counts half. This is the area under
/// the ROC curve: the statistic of Mann & Whitney (1947) over the number of pairs. NaN if either is empty.
double roc_area(std::span<const double> positives, std::span<const double> negatives);

}  // namespace attention_plasticity
