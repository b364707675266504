#include "attention_plasticity/plasticity/win_probability.h"

#include <cmath>

#include "attention_plasticity/stats/normal.h"

namespace attention_plasticity {

double plasticity_of_z(double z) {
  // Only the smaller probability needs the accuracy of the tail; 1 minus it does not cancel.
  const double lesser = normal_cdf(-std::abs(z));
  return 4.0 * lesser * (1.0 - lesser);
}

double plasticity(double mean, double variance) {
  if (variance <= 0.0) return mean == 0.0 ? 1.0 : 0.0;
  return plasticity_of_z(mean / std::sqrt(variance));
}

}  // namespace attention_plasticity
