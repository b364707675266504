#include "attention_plasticity/compare/number_text.h"

#include <fmt/format.h>

#include <cmath>

namespace attention_plasticity {

std::string number_text(double value, const char* format) {
  return std::isnan(value) ? "-" : fmt::format(fmt::runtime(format), value);
}

std::string probability_text(double p) { return p < 0.0001 ? "<0.0001" : number_text(p, "{:.4f}"); }

}  // namespace attention_plasticity
