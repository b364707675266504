#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace attention_plasticity {

struct BootstrapOptions {
  std::uint64_t seed = 0;
  std::size_t resamples = 2000;  ///< 0: no interval
  double confidence = 0.95;      ///< in (0, 1)
};

/// A percentile interval (Efron 1979): the quantiles (1 - confidence) / 2 and (1 + confidence) / 2 of a statistic over
/// resamples of the data. Both ends are NaN when there is no interval.
struct BootstrapInterval {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

// Every interval starts a new generator, NumPy's `default_rng(seed)`. An interval therefore does not depend on which
// other intervals are computed, and statistics of the same heads use the same resamples. Values must not be NaN.

/// The interval of spearman(x, y). A resample draws n pairs by n calls of integers(n). Resamples without a correlation,
/// in which all x or all y are equal, are left out. A resample takes O(n): the values are sorted once.
BootstrapInterval bootstrap_spearman(std::span<const double> x, std::span<const double> y,
                                     const BootstrapOptions& options);

/// The interval of roc_area(positives, negatives). A resample draws as many positives as there are, then as many
/// negatives, so that neither side is empty. A resample takes O(n).
BootstrapInterval bootstrap_roc_area(std::span<const double> positives, std::span<const double> negatives,
                                     const BootstrapOptions& options);

}  // namespace attention_plasticity
