#pragma once

#include <array>
#include <cstddef>

namespace attention_plasticity {

/// The sum of term(0), ..., term(n - 1). It is computed as eight sums side by side, because one sum alone waits for
/// each of its additions.
template <class Term>
double sum_terms(std::size_t n, const Term& term) {
  constexpr std::size_t width = 8;
  std::array<double, width> part{};
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    for (std::size_t k = 0; k < width; ++k) part[k] += term(i + k);
  }
  double rest = 0;
  for (; i < n; ++i) rest += term(i);
  return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7])) + rest;
}

}  // namespace attention_plasticity
