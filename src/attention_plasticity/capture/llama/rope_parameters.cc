#include "attention_plasticity/capture/llama/rope_parameters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace attention_plasticity {
namespace {

// The index of the pair that makes `rotations` rotations over the original length.
double pair_of_rotations(const RopeParameters& parameters, double rotations) {
  return parameters.dims * std::log(parameters.original_length / (2 * std::numbers::pi * rotations)) /
         (2 * std::log(parameters.base));
}

struct Ramp {
  double low;
  double high;
};

Ramp yarn_ramp(const RopeParameters& parameters) {
  return {std::max(0.0, std::floor(pair_of_rotations(parameters, parameters.beta_fast))),
          std::min<double>(parameters.dims - 1, std::ceil(pair_of_rotations(parameters, parameters.beta_slow)))};
}

}  // namespace

LayerRotation rotation_of(const RopeParameters& parameters) {
  const bool is_yarn = parameters.extrapolation != 0;
  const bool has_still = std::ranges::any_of(parameters.still, [](bool still) { return still; });
  const bool is_plain = parameters.scale == 1 && !is_yarn && parameters.magnitude == 1;
  LayerRotation result;
  result.kind = is_plain && parameters.factors.empty() && !has_still ? RotaryKind::standard : RotaryKind::listed;
  result.theta = parameters.base;
  Rotation& rotation = result.rotation;
  rotation.first = static_cast<std::size_t>(parameters.first);
  rotation.attention_factor = parameters.magnitude;
  if (is_yarn) rotation.attention_factor *= 1 + 0.1 * std::log(1 / parameters.scale);
  const Ramp ramp = is_yarn ? yarn_ramp(parameters) : Ramp{0, 0};
  const auto pairs = static_cast<std::size_t>(parameters.dims / 2);
  for (std::size_t i = 0; i < pairs; ++i) {
    const double factor = i < parameters.factors.size() ? parameters.factors[i] : 1;
    const double own = std::pow(parameters.base, -2 * static_cast<double>(i) / parameters.dims) / factor;
    double frequency = own * parameters.scale;
    if (is_yarn) {
      const double along = (static_cast<double>(i) - ramp.low) / std::max(0.001, ramp.high - ramp.low);
      const double kept = (1 - std::clamp(along, 0.0, 1.0)) * parameters.extrapolation;
      frequency = frequency * (1 - kept) + own * kept;
    }
    rotation.frequency.push_back(i < parameters.still.size() && parameters.still[i] ? 0 : frequency);
  }
  return result;
}

std::vector<bool> still_pairs(int dims, const std::array<int, 4>& sections, bool interleaved) {
  const auto [time, height, width, fourth] = sections;
  const int all = time + height + width + fourth;
  std::vector<bool> still(static_cast<std::size_t>(dims / 2), false);
  if (all <= 0) return still;
  for (std::size_t i = 0; i < still.size(); ++i) {
    const int sector = static_cast<int>(i) % all;
    if (interleaved) {
      const std::array<int, 3> turns{time, height, width};
      still[i] = sector >= 3 * turns[static_cast<std::size_t>(sector % 3)];
    } else {
      still[i] = sector >= time + height + width;
    }
  }
  return still;
}

void halve_pairs(float* vector, int first, int dims, std::vector<float>& scratch) {
  const auto pairs = static_cast<std::size_t>(dims / 2);
  float* const rotated = vector + first;
  scratch.assign(rotated, rotated + 2 * pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    rotated[i] = scratch[2 * i];
    rotated[i + pairs] = scratch[2 * i + 1];
  }
}

}  // namespace attention_plasticity
