#include "attention_plasticity/stats/normal.h"

#include <cmath>
#include <numbers>

namespace attention_plasticity {

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

}  // namespace attention_plasticity
