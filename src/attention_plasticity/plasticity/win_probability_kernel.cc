#include "attention_plasticity/plasticity/win_probability_kernel.h"

#include <array>
#include <cstddef>

#include "attention_plasticity/plasticity/win_probability.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/plasticity/win_probability_kernel.cc"
#include "attention_plasticity/base/highway.h"
// After highway.h:
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

// (1 + 2x) exp(x²) erfc(x) is a smooth function of s = (x - 4)/(x + 4) (Shepherd & Laframboise 1981): 1 at x = 0,
// 2/sqrt(pi) at infinity. These are the coefficients of its Chebyshev series, truncated at 4e-17, as powers of s.
constexpr std::array<double, 24> scaled_erfc{
    1.2329951186255526,      -0.1396211168405623,     0.015379652102610473,    0.06809705425466908,
    -0.10103906603586531,    0.0937328349990944,      -0.06633036582031154,    0.03716751552655567,
    -0.016197733981455194,   0.005031970067657489,    -0.000757773707063825,   -0.00019925714661091188,
    0.00015062309720018628,  -2.4397746422436416e-05, -1.1225101875659178e-05, 5.706604414895734e-06,
    2.9801353803031333e-07,  -8.210939042560568e-07,  7.115337800585303e-08,   1.0633855618594884e-07,
    -1.6371779763566967e-08, -1.234686604382353e-08,  1.5738283774192037e-09,  9.311744978232572e-10};

// Even and odd powers are summed apart: two dependency chains of half the length.
HWY_INLINE V scaled_erfc_at(V s) {
  const D d;
  const V square = hn::Mul(s, s);
  V even = hn::Set(d, scaled_erfc[22]);
  V odd = hn::Set(d, scaled_erfc[23]);
  for (std::size_t i = 22; i > 0; i -= 2) {
    even = hn::MulAdd(even, square, hn::Set(d, scaled_erfc[i - 2]));
    odd = hn::MulAdd(odd, square, hn::Set(d, scaled_erfc[i - 1]));
  }
  return hn::MulAdd(odd, s, even);
}

// 4 Phi(z) Phi(-z) of z = mean / sqrt(variance).
HWY_INLINE V plasticity_at(V mean, V variance) {
  const D d;
  const V one = hn::Set(d, 1.0);
  const V four = hn::Set(d, 4.0);
  // Phi(-z) underflows to 0 from 39 on.
  const V z = hn::Min(hn::Abs(hn::Div(mean, hn::Sqrt(variance))), hn::Set(d, 39.0));
  const V x = hn::Mul(z, hn::Set(d, 0.70710678118654752440));
  const V above = hn::Add(x, four);
  const V weight = hn::MulAdd(x, hn::Set(d, 2.0), one);
  const V inverse = hn::Div(one, hn::Mul(above, weight));
  const V s = hn::Mul(hn::Sub(x, four), hn::Mul(inverse, weight));
  // exp(-z²/2), corrected for the rounding of z². Without fused multiplication `lost` is 0.
  const V square = hn::Mul(z, z);
  const V lost = hn::MulSub(z, z, square);
  const V half = hn::Set(d, 0.5);
  const V bell = hn::Mul(hn::Exp(d, hn::Neg(hn::Mul(half, square))), hn::NegMulAdd(half, lost, one));
  const V lesser = hn::Mul(hn::Mul(half, bell), hn::Mul(scaled_erfc_at(s), hn::Mul(inverse, above)));
  const V modelled = hn::Mul(hn::Mul(four, lesser), hn::Sub(one, lesser));
  // Without variance the same key always wins, unless the keys tie.
  const V fixed = hn::IfThenElseZero(hn::Eq(mean, hn::Zero(d)), one);
  return hn::IfThenElse(hn::Le(variance, hn::Zero(d)), fixed, modelled);
}

std::size_t whole_vectors(const double* mean, const double* variance, std::size_t count, double* values) {
  const D d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    hn::StoreU(plasticity_at(hn::LoadU(d, mean + i), hn::LoadU(d, variance + i)), d, values + i);
  }
  return i;
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(whole_vectors);

}  // namespace

void plasticity_of_pairs(std::span<const double> mean, std::span<const double> variance, std::span<double> values) {
  std::size_t i = HWY_DYNAMIC_DISPATCH(whole_vectors)(mean.data(), variance.data(), mean.size(), values.data());
  for (; i < mean.size(); ++i) values[i] = plasticity(mean[i], variance[i]);
}

}  // namespace attention_plasticity
#endif
