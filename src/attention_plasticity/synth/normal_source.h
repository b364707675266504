#pragma once

#include <span>

#include "attention_plasticity/random/numpy_generator.h"

namespace attention_plasticity {

/// Independent N(0, 1) variables by the polar method (Marsaglia & Bray 1964): two from each random point of the unit
/// disc. The coordinates of a point have 32 bits, so the magnitude is at most 9.3, and the distribution is exact to the
/// precision of a float.
class NormalSource {
 public:
  explicit NormalSource(const NumpyGenerator& generator) : generator_(generator) {}

  void fill(std::span<float> out);
  double next();

  /// The underlying generator, for other kinds of draws.
  NumpyGenerator& generator() { return generator_; }

 private:
  struct Two {
    double first;
    double second;
  };
  Two draw();

  NumpyGenerator generator_;
};

}  // namespace attention_plasticity
