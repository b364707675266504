#pragma once

namespace attention_plasticity {

/// A Monte Carlo value and its standard error; NaN if there is none.
struct Estimate {
  double value;
  double error;
};

}  // namespace attention_plasticity
