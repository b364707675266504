#include "attention_plasticity/plasticity/scatter_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/plasticity/scatter_kernel.cc"
#include "attention_plasticity/base/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A tile of the sums is kept in registers. It has at least eight vectors, since an addition to one must wait for the
// previous one.
constexpr std::size_t tile_rows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
constexpr std::size_t tile_vectors = HWY_TARGET <= HWY_AVX3 ? 1 : 2;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;

HWY_INLINE void add_tile(const double* HWY_RESTRICT rows, std::size_t count, std::size_t stride, std::size_t a,
                         std::size_t b, double* HWY_RESTRICT scatter) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V sums[tile_rows][tile_vectors];
  double* out = scatter + a * stride + b;
  for (std::size_t r = 0; r < tile_rows; ++r) {
    for (std::size_t v = 0; v < tile_vectors; ++v) sums[r][v] = hn::Load(d, out + r * stride + v * lanes);
  }
  for (std::size_t i = 0; i < count; ++i, rows += stride) {
    V x[tile_vectors];
    for (std::size_t v = 0; v < tile_vectors; ++v) x[v] = hn::Load(d, rows + b + v * lanes);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      const V y = hn::Set(d, rows[a + r]);
      for (std::size_t v = 0; v < tile_vectors; ++v) sums[r][v] = hn::MulAdd(y, x[v], sums[r][v]);
    }
  }
  for (std::size_t r = 0; r < tile_rows; ++r) {
    for (std::size_t v = 0; v < tile_vectors; ++v) hn::Store(sums[r][v], d, out + r * stride + v * lanes);
  }
}

void add_products(const double* rows, std::size_t count, std::size_t stride, double* scatter) {
  const std::size_t tile_columns = tile_vectors * hn::Lanes(D());
  for (std::size_t b = 0; b < stride; b += tile_columns) {
    for (std::size_t a = 0; a < b + tile_columns; a += tile_rows) add_tile(rows, count, stride, a, b, scatter);
  }
}

void centre(double* HWY_RESTRICT rows, std::size_t count, std::size_t stride, const double* HWY_RESTRICT origin,
            double* HWY_RESTRICT mean) {
  const D d;
  constexpr std::size_t vectors = 2;  // at most 16 values, and a stride is a multiple of 16
  const std::size_t lanes = hn::Lanes(d);
  const V share = hn::Set(d, 1.0 / static_cast<double>(count));
  for (std::size_t c = 0; c < stride; c += vectors * lanes) {
    V from[vectors], shift[vectors];
    for (std::size_t v = 0; v < vectors; ++v) {
      from[v] = hn::Load(d, origin + c + v * lanes);
      shift[v] = hn::Zero(d);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const double* at = rows + i * stride + c;
      for (std::size_t v = 0; v < vectors; ++v) {
        shift[v] = hn::Add(shift[v], hn::Sub(hn::Load(d, at + v * lanes), from[v]));
      }
    }
    for (std::size_t v = 0; v < vectors; ++v) {
      shift[v] = hn::Mul(shift[v], share);
      hn::Store(shift[v], d, mean + c + v * lanes);
    }
    for (std::size_t i = 0; i < count; ++i) {
      double* at = rows + i * stride + c;
      for (std::size_t v = 0; v < vectors; ++v) {
        hn::Store(hn::Sub(hn::Sub(hn::Load(d, at + v * lanes), from[v]), shift[v]), d, at + v * lanes);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(add_products);
HWY_EXPORT(centre);

}  // namespace

void centre_rows(double* rows, std::size_t count, std::size_t stride, const double* origin, double* mean) {
  HWY_DYNAMIC_DISPATCH(centre)(rows, count, stride, origin, mean);
}

void add_outer_products(const double* rows, std::size_t count, std::size_t stride, double* scatter) {
  HWY_DYNAMIC_DISPATCH(add_products)(rows, count, stride, scatter);
}

}  // namespace attention_plasticity
#endif
