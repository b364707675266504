#pragma once

#include <cstddef>
#include <limits>

namespace attention_plasticity {

/// The mean of values that are added one by one.
struct Mean {
  double sum = 0;
  std::size_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  /// NaN without values.
  double value() const {
    return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace attention_plasticity
