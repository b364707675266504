#include "attention_plasticity/stats/find_codes.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/stats/find_codes.cc"
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
    // Clamping changes only codes outside: some targets cannot compare unsigned numbers.
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

}  // namespace attention_plasticity::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(find_codes);

}  // namespace

std::size_t find_codes(std::span<const std::uint16_t> codes, std::uint16_t first, std::uint16_t last,
                       std::uint32_t* found) {
  return HWY_DYNAMIC_DISPATCH(find_codes)(codes, first, last, found);
}

}  // namespace attention_plasticity
#endif
