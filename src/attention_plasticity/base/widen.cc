#include "attention_plasticity/base/widen.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/base/widen.cc"
#include "attention_plasticity/base/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void widen_values(const float* HWY_RESTRICT captured, std::size_t count, double* HWY_RESTRICT out) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  std::size_t c = 0;
  for (; c + hn::Lanes(d) <= count; c += hn::Lanes(d)) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(narrow, captured + c)), d, out + c);
  }
  for (; c < count; ++c) out[c] = static_cast<double>(captured[c]);
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(widen_values);

}  // namespace

void widen(std::span<const float> captured, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(widen_values)(captured.data(), captured.size(), out.data());
}

}  // namespace attention_plasticity
#endif
