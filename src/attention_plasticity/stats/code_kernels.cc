#include "attention_plasticity/stats/code_kernels.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/stats/code_kernels.cc"
#include "attention_plasticity/base/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

std::size_t find_codes(std::span<const std::uint16_t> codes, std::uint16_t first, std::uint16_t last,
                       std::uint32_t* found) {
  const hn::CappedTag<std::uint16_t, 64> u;
  const std::size_t lanes = hn::Lanes(u);
  const auto lower = hn::Set(u, first);
  const auto upper = hn::Set(u, last);
  std::size_t count = 0;
  std::size_t at = 0;
  for (; at + lanes <= codes.size(); at += lanes) {
    const auto code = hn::LoadU(u, codes.data() + at);
    // Clamping leaves alone what lies inside: some targets cannot compare unsigned numbers.
    const auto inside = hn::Eq(code, hn::Min(hn::Max(code, lower), upper));
    if (hn::AllFalse(u, inside)) continue;
    HWY_ALIGN std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(u, inside, bytes);
    std::uint64_t bits = 0;
    for (std::size_t k = 8; k-- > 0;) bits = bits << 8 | bytes[k];
    for (; bits != 0; bits &= bits - 1) {
      found[count++] = static_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(std::countr_zero(bits));
    }
  }
  for (; at < codes.size(); ++at) {
    if (first <= codes[at] && codes[at] <= last) found[count++] = static_cast<std::uint32_t>(at);
  }
  return count;
}

void sum_eights(const std::uint8_t* counts, std::size_t n, std::uint64_t* sums) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint8_t> d;
  const hn::Repartition<std::uint64_t, decltype(d)> wide;
  for (; i + hn::Lanes(wide) <= n; i += hn::Lanes(wide)) {
    hn::StoreU(hn::SumsOf8(hn::LoadU(d, counts + 8 * i)), wide, sums + i);
  }
#endif
  for (; i < n; ++i) {
    sums[i] = 0;
    for (std::size_t k = 0; k < 8; ++k) sums[i] += counts[8 * i + k];
  }
}

}  // namespace attention_plasticity::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(find_codes);
HWY_EXPORT(sum_eights);

}  // namespace

std::size_t find_codes(std::span<const std::uint16_t> codes, std::uint16_t first, std::uint16_t last,
                       std::uint32_t* found) {
  return HWY_DYNAMIC_DISPATCH(find_codes)(codes, first, last, found);
}

void sum_eights(const std::uint8_t* counts, std::size_t n, std::uint64_t* sums) {
  HWY_DYNAMIC_DISPATCH(sum_eights)(counts, n, sums);
}

}  // namespace attention_plasticity
#endif
