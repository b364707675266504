#pragma once

#include <span>

#include "attention_plasticity/random/numpy_generator.h"

namespace attention_plasticity {

/// Independent N(0, 1) variables by the polar method (Marsaglia & Bray 1964), two from every point of a disc with
/// coordinates of 32 bits: at most 9.3 in size, and exact in distribution to what a float can tell.
class NormalSource {
 public:
  explicit NormalSource(const NumpyGenerator& generator) : generator_(generator) {}

  void fill(std::span<float> out);
  double next();

  /// The generator below, for draws of another kind.
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
