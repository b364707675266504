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
/// resamples of the data. Both ends are NaN where there is none.
struct BootstrapInterval {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

// Every interval starts `default_rng(seed)` of NumPy anew, so that it is the same whichever others are asked for, and
// statistics of the same heads see the same resamples. Values must not be NaN.

/// Of spearman(x, y): a resample draws n pairs as n times integers(n). Resamples in which the correlation does not
/// exist, since all x or all y are equal, are left out. Takes O(n) a resample: the values are sorted once.
BootstrapInterval bootstrap_spearman(std::span<const double> x, std::span<const double> y,
                                     const BootstrapOptions& options);

/// Of roc_area(positives, negatives): a resample draws as many positives, then as many negatives, each from its own
/// side, so that neither is ever empty. O(n) a resample.
BootstrapInterval bootstrap_roc_area(std::span<const double> positives, std::span<const double> negatives,
                                     const BootstrapOptions& options);

}  // namespace attention_plasticity
