// The product of four rows, stored as a panel, with a tile of directions: the inner loop that several kernels share.
// Highway includes this file once for each target, so it has no ordinary include guard.

#include <cstddef>

#if defined(ATTENTION_PLASTICITY_PANEL_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTENTION_PLASTICITY_PANEL_PRODUCT_INL_H
#undef ATTENTION_PLASTICITY_PANEL_PRODUCT_INL_H
#else
#define ATTENTION_PLASTICITY_PANEL_PRODUCT_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of a panel and vectors of a tile, chosen so that the sums of their products fill the registers.
constexpr std::size_t panel_rows = 4;
constexpr std::size_t tile_vectors = HWY_TARGET <= HWY_AVX3 ? 4 : HWY_TARGET == HWY_AVX2 ? 3 : 2;

template <class T>
using TileTag = hn::ScalableTag<T>;
template <class T>
using TileVector = hn::Vec<TileTag<T>>;

// Number of directions in a tile.
template <class T>
HWY_INLINE std::size_t tile_size() {
  return tile_vectors * hn::Lanes(TileTag<T>());
}

// sums[r][v] = sum over c of panel[c][r] · w[c][v], for `length` components.
template <class T>
HWY_INLINE void multiply_panel(const T* HWY_RESTRICT panel, const T* HWY_RESTRICT w, std::size_t length,
                               TileVector<T> sums[panel_rows][tile_vectors]) {
  const TileTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t r = 0; r < panel_rows; ++r) {
    for (std::size_t v = 0; v < tile_vectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (std::size_t c = 0; c < length; ++c) {
    TileVector<T> x[tile_vectors];
    for (std::size_t v = 0; v < tile_vectors; ++v) x[v] = hn::Load(d, w + v * lanes);
    for (std::size_t r = 0; r < panel_rows; ++r) {
      const auto factor = hn::Set(d, panel[r]);
      for (std::size_t v = 0; v < tile_vectors; ++v) sums[r][v] = hn::MulAdd(factor, x[v], sums[r][v]);
    }
    panel += panel_rows;
    w += tile_vectors * lanes;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#endif
