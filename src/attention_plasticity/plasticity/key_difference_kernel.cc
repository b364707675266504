#include "attention_plasticity/plasticity/key_difference_kernel.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/plasticity/key_difference_kernel.cc"
#include "attention_plasticity/base/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using Narrow = hn::Rebind<float, D>;

HWY_INLINE hn::Vec<D> wide(const float* values) { return hn::PromoteTo(D(), hn::LoadU(Narrow(), values)); }

// Keys of a pair lie anywhere: those of a later pair are asked for while this one is written.
HWY_INLINE void prefetch_row(const float* row, std::size_t width) {
  constexpr std::size_t in_cache_line = 16;
  for (std::size_t c = 0; c < width; c += in_cache_line) hwy::Prefetch(row + c);
}

HWY_INLINE void prefetch_later(const float* rows, std::size_t width, std::span<const KeyPair> pairs, std::size_t i) {
  constexpr std::size_t ahead = 8;
  const KeyPair& later = pairs[std::min(i + ahead, pairs.size() - 1)];
  prefetch_row(rows + later.first * width, width);
  prefetch_row(rows + later.second * width, width);
}

void subtract_rows(const float* HWY_RESTRICT rows, std::size_t width, std::span<const KeyPair> pairs,
                   double* HWY_RESTRICT out) {
  const D d;
  for (std::size_t i = 0; i < pairs.size(); ++i, out += width) {
    prefetch_later(rows, width, pairs, i);
    const float* first = rows + pairs[i].first * width;
    const float* second = rows + pairs[i].second * width;
    std::size_t c = 0;
    for (; c + hn::Lanes(d) <= width; c += hn::Lanes(d)) {
      hn::StoreU(hn::Sub(wide(first + c), wide(second + c)), d, out + c);
    }
    for (; c < width; ++c) out[c] = static_cast<double>(first[c]) - static_cast<double>(second[c]);
  }
}

constexpr std::size_t pairs_at_once = 2;

HWY_INLINE double sum_of_lanes(V v) { return hn::GetLane(hn::SumOfLanes(D(), v)); }

// Of `count` pairs at once, so that the moments are loaded once for all of them. `w` has room for their differences.
template <std::size_t count>
HWY_INLINE void add_moments(const float* HWY_RESTRICT rows, std::size_t width, const KeyPair* pairs,
                            const ReflectedMoments& moments, double* HWY_RESTRICT w, double* HWY_RESTRICT mean,
                            double* HWY_RESTRICT variance) {
  const D d;
  const std::size_t whole = width / hn::Lanes(d) * hn::Lanes(d);
  const double* HWY_RESTRICT axis_of = moments.axis.data();
  const double* HWY_RESTRICT mean_of = moments.mean.data();
  const double* HWY_RESTRICT variance_of = moments.variance.data();
  V along[count], means[count], variances[count];
  const float* first[count];
  const float* second[count];
  for (std::size_t r = 0; r < count; ++r) {
    along[r] = means[r] = variances[r] = hn::Zero(d);
    first[r] = rows + pairs[r].first * width;
    second[r] = rows + pairs[r].second * width;
  }
  for (std::size_t c = 0; c < whole; c += hn::Lanes(d)) {
    const V axis = hn::LoadU(d, axis_of + c);
    const V m = hn::LoadU(d, mean_of + c);
    for (std::size_t r = 0; r < count; ++r) {
      const V difference = hn::Sub(wide(first[r] + c), wide(second[r] + c));
      hn::StoreU(difference, d, w + r * width + c);
      along[r] = hn::MulAdd(difference, axis, along[r]);
      means[r] = hn::MulAdd(difference, m, means[r]);
    }
  }
  double twice[count];
  for (std::size_t r = 0; r < count; ++r) {
    twice[r] = sum_of_lanes(along[r]);
    mean[r] = sum_of_lanes(means[r]);
    for (std::size_t c = whole; c < width; ++c) {
      const double difference = static_cast<double>(first[r][c]) - static_cast<double>(second[r][c]);
      w[r * width + c] = difference;
      twice[r] += difference * axis_of[c];
      mean[r] += difference * mean_of[c];
    }
    twice[r] *= 2;
  }
  for (std::size_t c = 0; c < whole; c += hn::Lanes(d)) {
    const V axis = hn::LoadU(d, axis_of + c);
    const V v = hn::LoadU(d, variance_of + c);
    for (std::size_t r = 0; r < count; ++r) {
      const V reflected = hn::NegMulAdd(hn::Set(d, twice[r]), axis, hn::LoadU(d, w + r * width + c));
      variances[r] = hn::MulAdd(hn::Mul(reflected, reflected), v, variances[r]);
    }
  }
  for (std::size_t r = 0; r < count; ++r) {
    variance[r] = sum_of_lanes(variances[r]);
    for (std::size_t c = whole; c < width; ++c) {
      const double reflected = w[r * width + c] - twice[r] * axis_of[c];
      variance[r] += variance_of[c] * reflected * reflected;
    }
  }
}

void moments_of_pairs(const float* rows, std::size_t width, std::span<const KeyPair> pairs,
                      const ReflectedMoments& moments, double* w, double* mean, double* variance) {
  std::size_t i = 0;
  for (; i + pairs_at_once <= pairs.size(); i += pairs_at_once) {
    for (std::size_t r = 0; r < pairs_at_once; ++r) prefetch_later(rows, width, pairs, i + r);
    add_moments<pairs_at_once>(rows, width, pairs.data() + i, moments, w, mean + i, variance + i);
  }
  for (; i < pairs.size(); ++i) add_moments<1>(rows, width, pairs.data() + i, moments, w, mean + i, variance + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(subtract_rows);
HWY_EXPORT(moments_of_pairs);

}  // namespace

void write_differences(const HeadRows& keys, std::span<const KeyPair> pairs, Matrix& differences) {
  HWY_DYNAMIC_DISPATCH(subtract_rows)(keys.vectors.data(), keys.width, pairs, differences.data());
}

void moments_along_differences(const HeadRows& keys, std::span<const KeyPair> pairs, const ReflectedMoments& moments,
                               std::span<double> mean, std::span<double> variance) {
  std::vector<double> differences(HWY_NAMESPACE::pairs_at_once * keys.width);
  HWY_DYNAMIC_DISPATCH(moments_of_pairs)
  (keys.vectors.data(), keys.width, pairs, moments, differences.data(), mean.data(), variance.data());
}

}  // namespace attention_plasticity
#endif
