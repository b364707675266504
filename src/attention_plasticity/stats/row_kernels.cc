#include "attention_plasticity/stats/row_kernels.h"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/stats/row_kernels.cc"
#include "attention_plasticity/base/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most a tile, so that the tile's width is a multiple of the lanes.
using Doubles = hn::CappedTag<double, tile_width>;
using Floats = hn::Rebind<float, Doubles>;

using V = hn::Vec<Doubles>;

// SIMD vectors of components that are summed side by side: as many as have room for their sums in registers, and at
// most a whole tile.
constexpr std::size_t side_by_side = HWY_TARGET <= HWY_AVX3 ? 2 : 1;

HWY_INLINE void add_to(double* sums, V v) {
  const Doubles d;
  hn::StoreU(hn::Add(hn::LoadU(d, sums), v), d, sums);
}

HWY_INLINE V wide(const float* values) { return hn::PromoteTo(Doubles(), hn::LoadU(Floats(), values)); }

void add_line_sums(const RowTile& tile, const double* t, const TileValues& shift, TileLineSums& sums) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  // Two vectors side by side, because one alone waits for its own sums.
  for (std::size_t c = 0; c < tile_width; c += 2 * lanes) {
    const V origin0 = hn::LoadU(d, shift.data() + c);
    const V origin1 = hn::LoadU(d, shift.data() + c + lanes);
    V x0 = hn::Zero(d), xx0 = x0, tx0 = x0, x1 = x0, xx1 = x0, tx1 = x0;
    const float* values = tile.values + c;
    const std::size_t ahead = tile.ahead * tile.stride;
    for (std::size_t row = 0; row < tile.rows; ++row, values += tile.stride) {
      hwy::Prefetch(values + ahead);
      const V time = hn::Set(d, t[row]);
      const V value0 = hn::Sub(wide(values), origin0);
      const V value1 = hn::Sub(wide(values + lanes), origin1);
      x0 = hn::Add(x0, value0);
      x1 = hn::Add(x1, value1);
      xx0 = hn::MulAdd(value0, value0, xx0);
      xx1 = hn::MulAdd(value1, value1, xx1);
      tx0 = hn::MulAdd(time, value0, tx0);
      tx1 = hn::MulAdd(time, value1, tx1);
    }
    add_to(sums.x.data() + c, x0);
    add_to(sums.x.data() + c + lanes, x1);
    add_to(sums.xx.data() + c, xx0);
    add_to(sums.xx.data() + c + lanes, xx1);
    add_to(sums.tx.data() + c, tx0);
    add_to(sums.tx.data() + c + lanes, tx1);
  }
}

// One vector of reflected components, and the sums of its powers.
struct PowersOfVector {
  V along, shift, scale;
  V first, second, third, fourth;

  HWY_INLINE PowersOfVector(const TileReflection& reflection, const TileCodes& codes, std::size_t c) {
    const Doubles d;
    along = hn::LoadU(d, reflection.along.data() + c);
    shift = hn::LoadU(d, reflection.shift.data() + c);
    scale = hn::LoadU(d, codes.codes_per_unit.data() + c);
    first = second = third = fourth = hn::Zero(d);
  }

  HWY_INLINE V add(V x, V reflected) {
    const V y = hn::NegMulAdd(reflected, along, hn::Sub(x, shift));
    const V square = hn::Mul(y, y);
    first = hn::Add(first, y);
    second = hn::Add(second, square);
    third = hn::MulAdd(square, y, third);
    fourth = hn::MulAdd(square, square, fourth);
    return y;
  }

  HWY_INLINE void add_to_sums(TilePowerSums& sums, std::size_t c) const {
    add_to(sums.power[0].data() + c, first);
    add_to(sums.power[1].data() + c, second);
    add_to(sums.power[2].data() + c, third);
    add_to(sums.power[3].data() + c, fourth);
  }
};

HWY_INLINE void store_codes(V y, V scale, std::uint16_t* coded) {
  const Doubles d;
  const hn::Rebind<std::int32_t, Doubles> i;
  const hn::Rebind<std::uint16_t, Doubles> u;
  hn::StoreU(hn::DemoteTo(u, hn::DemoteTo(i, hn::MulAdd(y, scale, hn::Set(d, 32768.0)))), u, coded);
}

// The sums of some vectors of components; their codes go to `coded`, a row of tile_width after the other.
template <bool with_codes>
HWY_INLINE void add_powers_of_vectors(const RowTile& tile, std::size_t c, const double* reflected,
                                      const TileReflection& reflection, const TileCodes& codes, TilePowerSums& sums,
                                      std::uint16_t* coded) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  PowersOfVector one(reflection, codes, c);
  PowersOfVector other(reflection, codes, c + (side_by_side - 1) * lanes);
  const float* values = tile.values + c;
  const std::size_t ahead = tile.ahead * tile.stride;
  for (std::size_t row = 0; row < tile.rows; ++row, values += tile.stride) {
    hwy::Prefetch(values + ahead);
    const V of_row = hn::Set(d, reflected[row]);
    const V y = one.add(wide(values), of_row);
    if (with_codes) store_codes(y, one.scale, coded + row * tile_width + c);
    if (side_by_side > 1) {
      const V y1 = other.add(wide(values + lanes), of_row);
      if (with_codes) store_codes(y1, other.scale, coded + row * tile_width + c + lanes);
    }
  }
  one.add_to_sums(sums, c);
  if (side_by_side > 1) other.add_to_sums(sums, c + lanes);
}

#if HWY_TARGET != HWY_SCALAR
// Transposes eight columns of eight rows. Interleaving rows k and k + 4 rotates the six bits of an entry's (row,
// column) index by one; doing so three times swaps row and column.
HWY_INLINE void transpose_square(const std::uint16_t* square, std::uint16_t* const* column, std::size_t at) {
  const hn::FixedTag<std::uint16_t, 8> u;
  auto r0 = hn::LoadU(u, square);
  auto r1 = hn::LoadU(u, square + tile_width);
  auto r2 = hn::LoadU(u, square + 2 * tile_width);
  auto r3 = hn::LoadU(u, square + 3 * tile_width);
  auto r4 = hn::LoadU(u, square + 4 * tile_width);
  auto r5 = hn::LoadU(u, square + 5 * tile_width);
  auto r6 = hn::LoadU(u, square + 6 * tile_width);
  auto r7 = hn::LoadU(u, square + 7 * tile_width);
  for (int turn = 0; turn < 3; ++turn) {
    const auto low0 = hn::InterleaveLower(u, r0, r4);
    const auto low1 = hn::InterleaveLower(u, r1, r5);
    const auto low2 = hn::InterleaveLower(u, r2, r6);
    const auto low3 = hn::InterleaveLower(u, r3, r7);
    const auto high0 = hn::InterleaveUpper(u, r0, r4);
    const auto high1 = hn::InterleaveUpper(u, r1, r5);
    const auto high2 = hn::InterleaveUpper(u, r2, r6);
    const auto high3 = hn::InterleaveUpper(u, r3, r7);
    r0 = low0, r1 = high0, r2 = low1, r3 = high1, r4 = low2, r5 = high2, r6 = low3, r7 = high3;
  }
  hn::StoreU(r0, u, column[0] + at);
  hn::StoreU(r1, u, column[1] + at);
  hn::StoreU(r2, u, column[2] + at);
  hn::StoreU(r3, u, column[3] + at);
  hn::StoreU(r4, u, column[4] + at);
  hn::StoreU(r5, u, column[5] + at);
  hn::StoreU(r6, u, column[6] + at);
  hn::StoreU(r7, u, column[7] + at);
}
#endif

// column[c][start + row] = coded[row * tile_width + c].
HWY_INLINE void transpose(const std::uint16_t* coded, std::size_t rows, std::uint16_t* const* column,
                          std::size_t start) {
  std::size_t row = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; row + 8 <= rows; row += 8) {
    for (std::size_t c = 0; c < tile_width; c += 8) {
      transpose_square(coded + row * tile_width + c, column + c, start + row);
    }
  }
#endif
  for (; row < rows; ++row) {
    for (std::size_t c = 0; c < tile_width; ++c) column[c][start + row] = coded[row * tile_width + c];
  }
}

template <bool with_codes>
HWY_INLINE void add_powers(const RowTile& tile, const double* reflected, const TileReflection& reflection,
                           const TileCodes& codes, TilePowerSums& sums) {
  constexpr std::size_t at_once = 64;
  constexpr std::size_t in_cache_line = 32;
  HWY_ALIGN std::uint16_t coded[at_once * tile_width];
  for (std::size_t row = 0; row < tile.rows; row += at_once) {
    // Prefetches the memory for the next codes, which lies in as many places as there are columns.
    for (std::size_t c = 0; with_codes && c < tile_width; ++c) {
      for (std::size_t i = 0; i < at_once; i += in_cache_line) {
        hwy::Prefetch(codes.column[c] + row + tile.ahead + i);
      }
    }
    const RowTile part{tile.values + row * tile.stride, tile.stride, HWY_MIN(at_once, tile.rows - row), tile.ahead};
    for (std::size_t c = 0; c < tile_width; c += side_by_side * hn::Lanes(Doubles())) {
      add_powers_of_vectors<with_codes>(part, c, reflected + row, reflection, codes, sums, coded);
    }
    if (with_codes) transpose(coded, part.rows, codes.column.data(), row);
  }
}

void add_power_sums(const RowTile& tile, const double* reflected, const TileReflection& reflection,
                    const TileCodes& codes, TilePowerSums& sums) {
  if (codes.wanted) {
    add_powers<true>(tile, reflected, reflection, codes, sums);
  } else {
    add_powers<false>(tile, reflected, reflection, codes, sums);
  }
}

// Projects `count` rows at once, so that a and b are loaded once for all of them.
template <std::size_t count>
HWY_INLINE void project(const float* rows, std::size_t width, const RowProjections& to, std::size_t row) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  V on_a[count];
  V on_b[count];
  for (std::size_t r = 0; r < count; ++r) on_a[r] = on_b[r] = hn::Zero(d);
  const float* first = rows + row * width;
  std::size_t c = 0;
  for (; c + lanes <= width; c += lanes) {
    const V a = hn::LoadU(d, to.a + c);
    const V b = hn::LoadU(d, to.b + c);
    for (std::size_t r = 0; r < count; ++r) {
      const V x = wide(first + r * width + c);
      on_a[r] = hn::MulAdd(x, a, on_a[r]);
      on_b[r] = hn::MulAdd(x, b, on_b[r]);
    }
  }
  for (std::size_t r = 0; r < count; ++r) {
    double sum_a = hn::GetLane(hn::SumOfLanes(d, on_a[r]));
    double sum_b = hn::GetLane(hn::SumOfLanes(d, on_b[r]));
    for (std::size_t i = c; i < width; ++i) {
      const auto x = static_cast<double>(first[r * width + i]);
      sum_a += x * to.a[i];
      sum_b += x * to.b[i];
    }
    to.on_a[row + r] = sum_a;
    to.on_b[row + r] = sum_b;
  }
}

void project_rows(const float* rows, std::size_t count, std::size_t width, const RowProjections& projections) {
  std::size_t row = 0;
  for (; row + 4 <= count; row += 4) project<4>(rows, width, projections, row);
  for (; row < count; ++row) project<1>(rows, width, projections, row);
}

}  // namespace attention_plasticity::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(add_line_sums);
HWY_EXPORT(add_power_sums);
HWY_EXPORT(project_rows);

}  // namespace

void add_line_sums(const RowTile& tile, const double* t, const TileValues& shift, TileLineSums& sums) {
  HWY_DYNAMIC_DISPATCH(add_line_sums)(tile, t, shift, sums);
}

void add_power_sums(const RowTile& tile, const double* reflected, const TileReflection& reflection,
                    const TileCodes& codes, TilePowerSums& sums) {
  HWY_DYNAMIC_DISPATCH(add_power_sums)(tile, reflected, reflection, codes, sums);
}

void project_rows(const float* rows, std::size_t count, std::size_t width, const RowProjections& projections) {
  HWY_DYNAMIC_DISPATCH(project_rows)(rows, count, width, projections);
}

}  // namespace attention_plasticity
#endif
