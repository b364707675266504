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
using Narrow = hn::Rebind<float, D>;

HWY_INLINE hn::Vec<D> wide(const float* values) { return hn::PromoteTo(D(), hn::LoadU(Narrow(), values)); }

// The keys of a pair may lie anywhere in memory, so those of a later pair are prefetched.
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

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(subtract_rows);

}  // namespace

void write_differences(const RowsView& keys, std::span<const KeyPair> pairs, Matrix& differences) {
  HWY_DYNAMIC_DISPATCH(subtract_rows)(keys.vectors.data(), keys.width, pairs, differences.data());
}

}  // namespace attention_plasticity
#endif
