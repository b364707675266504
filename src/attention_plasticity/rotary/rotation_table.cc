#include "attention_plasticity/rotary/rotation_table.h"

#include <bit>
#include <cmath>

#include "attention_plasticity/base/widen.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/rotary/rotation_table.cc"
#include "attention_plasticity/base/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rotates as many pairs as fill whole vectors, and returns their number. `lower` and `upper` each hold the cosines,
// then the sines, of one rotation; `sign` is -1 to un-rotate.
template <bool interleaved>
HWY_INLINE std::size_t rotate_whole_vectors(double* HWY_RESTRICT x, std::size_t pairs, const double* HWY_RESTRICT lower,
                                            const double* HWY_RESTRICT upper, double sign) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const V direction = hn::Set(d, sign);
  std::size_t i = 0;
  for (; i + lanes <= pairs; i += lanes) {
    const V c1 = hn::LoadU(d, lower + i);
    const V s1 = hn::LoadU(d, lower + pairs + i);
    const V c2 = hn::LoadU(d, upper + i);
    const V s2 = hn::LoadU(d, upper + pairs + i);
    const V cosine = hn::NegMulAdd(s1, s2, hn::Mul(c1, c2));
    const V sine = hn::Mul(direction, hn::MulAdd(s1, c2, hn::Mul(c1, s2)));
    V first, second;
    if constexpr (interleaved) {
      hn::LoadInterleaved2(d, x + 2 * i, first, second);
    } else {
      first = hn::LoadU(d, x + i);
      second = hn::LoadU(d, x + pairs + i);
    }
    const V rotated_first = hn::NegMulAdd(second, sine, hn::Mul(first, cosine));
    const V rotated_second = hn::MulAdd(first, sine, hn::Mul(second, cosine));
    if constexpr (interleaved) {
      hn::StoreInterleaved2(rotated_first, rotated_second, d, x + 2 * i);
    } else {
      hn::StoreU(rotated_first, d, x + i);
      hn::StoreU(rotated_second, d, x + pairs + i);
    }
  }
  return i;
}

std::size_t rotate_half(double* x, std::size_t pairs, const double* lower, const double* upper, double sign) {
  return rotate_whole_vectors<false>(x, pairs, lower, upper, sign);
}

std::size_t rotate_interleaved(double* x, std::size_t pairs, const double* lower, const double* upper, double sign) {
  return rotate_whole_vectors<true>(x, pairs, lower, upper, sign);
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(rotate_half);
HWY_EXPORT(rotate_interleaved);

// Larger tables would cost more time than they save.
constexpr double most_tokens = 1 << 24;

}  // namespace

RotationTable::RotationTable(const Rotation& rotation, double most) : rotation_(rotation) {
  if (!(most >= 0) || most > most_tokens || rotation.frequency.empty()) return;
  const auto last = static_cast<std::size_t>(most);
  lower_bits_ = (static_cast<std::size_t>(std::bit_width(last)) + 1) / 2;
  const std::size_t lower = std::size_t{1} << lower_bits_;
  const std::size_t upper = (last >> lower_bits_) + 1;
  count_ = last + 1;
  table_.reserve((lower + upper) * rotation.dim());
  for (std::size_t i = 0; i < lower + upper; ++i) {
    const auto tokens = static_cast<double>(i < lower ? i : (i - lower) << lower_bits_);
    for (const double frequency : rotation.frequency) table_.push_back(std::cos(tokens * frequency));
    for (const double frequency : rotation.frequency) table_.push_back(std::sin(tokens * frequency));
  }
}

void RotationTable::rotate(std::span<double> vector, double tokens) const {
  const double distance = std::abs(tokens);
  if (distance >= static_cast<double>(count_) || distance != std::floor(distance)) {
    rotation_.rotate(vector, tokens);
    return;
  }
  const std::size_t pairs = rotation_.frequency.size();
  const auto n = static_cast<std::size_t>(distance);
  const std::size_t in_lower = std::size_t{1} << lower_bits_;
  const double* lower = row(n & (in_lower - 1));
  const double* upper = row(in_lower + (n >> lower_bits_));
  const double sign = tokens < 0 ? -1.0 : 1.0;
  const bool half = rotation_.layout == RotaryLayout::half;
  double* const rotated = vector.data() + rotation_.first;
  std::size_t i = half ? HWY_DYNAMIC_DISPATCH(rotate_half)(rotated, pairs, lower, upper, sign)
                       : HWY_DYNAMIC_DISPATCH(rotate_interleaved)(rotated, pairs, lower, upper, sign);
  for (; i < pairs; ++i) {
    const double cosine = lower[i] * upper[i] - lower[pairs + i] * upper[pairs + i];
    const double sine = sign * (lower[pairs + i] * upper[i] + lower[i] * upper[pairs + i]);
    double& first = rotated[half ? i : 2 * i];
    double& second = rotated[half ? i + pairs : 2 * i + 1];
    const double x = first;
    first = x * cosine - second * sine;
    second = x * sine + second * cosine;
  }
}

void RotationTable::rotate(std::span<const float> vector, double tokens, std::span<double> out) const {
  widen(vector, out);
  rotate(out, tokens);
}

}  // namespace attention_plasticity
#endif
