#include "attention_plasticity/base/finite.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/base/finite.cc"
#include "attention_plasticity/base/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

bool are_all_finite(const float* values, std::size_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  // Only NaN and infinity have an exponent whose bits are all set. Adding one to it sets the sign bit, which was
  // masked.
  const auto exponent = hn::Set(bits, 0x7f800000U);
  const auto one_above = hn::Set(bits, 0x00800000U);
  auto seen = hn::Zero(bits);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto value = hn::BitCast(bits, hn::LoadU(d, values + i));
    seen = hn::Or(seen, hn::Add(hn::And(value, exponent), one_above));
  }
  bool finite = hn::AllFalse(bits, hn::TestBit(seen, hn::Set(bits, 0x80000000U)));
  for (; i < count; ++i) finite = finite && std::isfinite(values[i]);
  return finite;
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(are_all_finite);

}  // namespace

bool all_finite(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(are_all_finite)(values.data(), values.size());
}

}  // namespace attention_plasticity
#endif
