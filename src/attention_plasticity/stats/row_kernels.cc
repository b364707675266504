#include "attention_plasticity/stats/row_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/stats/row_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most a tile, so that its width is a multiple of the lanes.
using Doubles = hn::CappedTag<double, tile_width>;
using Floats = hn::Rebind<float, Doubles>;

HWY_INLINE void add_to(double* sums, hn::Vec<Doubles> v) {
  const Doubles d;
  hn::StoreU(hn::Add(hn::LoadU(d, sums), v), d, sums);
}

void add_line_sums(const RowTile& tile, const double* t, const TileValues& shift, TileLineSums& sums) {
  const Doubles d;
  const Floats f;
  for (std::size_t c = 0; c < tile_width; c += hn::Lanes(d)) {
    const auto origin = hn::LoadU(d, shift.data() + c);
    auto x = hn::Zero(d);
    auto xx = hn::Zero(d);
    auto tx = hn::Zero(d);
    const float* values = tile.values + c;
    for (std::size_t row = 0; row < tile.rows; ++row, values += tile.stride) {
      const auto value = hn::Sub(hn::PromoteTo(d, hn::LoadU(f, values)), origin);
      x = hn::Add(x, value);
      xx = hn::MulAdd(value, value, xx);
      tx = hn::MulAdd(hn::Set(d, t[row]), value, tx);
    }
    add_to(sums.x.data() + c, x);
    add_to(sums.xx.data() + c, xx);
    add_to(sums.tx.data() + c, tx);
  }
}

// The sums of one vector of components; their codes go to `coded`, a row of tile_width after the other.
HWY_INLINE void add_power_sums_of_vector(const RowTile& tile, std::size_t c, const double* reflected,
                                         const TileRotation& rotation, const TileValues& codes_per_unit,
                                         TilePowerSums& sums, std::uint16_t* coded) {
  const Doubles d;
  const Floats f;
  const hn::Rebind<std::int32_t, Doubles> i;
  const hn::Rebind<std::uint16_t, Doubles> u;
  const auto sign = hn::LoadU(d, rotation.sign.data() + c);
  const auto along = hn::LoadU(d, rotation.along.data() + c);
  const auto shift = hn::LoadU(d, rotation.shift.data() + c);
  const auto scale = hn::LoadU(d, codes_per_unit.data() + c);
  const auto middle = hn::Set(d, 32768.0);
  auto first = hn::Zero(d);
  auto second = hn::Zero(d);
  auto third = hn::Zero(d);
  auto fourth = hn::Zero(d);
  const float* values = tile.values + c;
  for (std::size_t row = 0; row < tile.rows; ++row, values += tile.stride) {
    const auto centred = hn::MulSub(hn::PromoteTo(d, hn::LoadU(f, values)), sign, shift);
    const auto y = hn::NegMulAdd(hn::Set(d, reflected[row]), along, centred);
    const auto square = hn::Mul(y, y);
    first = hn::Add(first, y);
    second = hn::Add(second, square);
    third = hn::MulAdd(square, y, third);
    fourth = hn::MulAdd(square, square, fourth);
    const auto code = hn::DemoteTo(u, hn::DemoteTo(i, hn::MulAdd(y, scale, middle)));
    hn::StoreU(code, u, coded + row * tile_width + c);
  }
  add_to(sums.power[0].data() + c, first);
  add_to(sums.power[1].data() + c, second);
  add_to(sums.power[2].data() + c, third);
  add_to(sums.power[3].data() + c, fourth);
}

#if HWY_TARGET != HWY_SCALAR
// Eight columns of eight rows. Interleaving rows k and k + 4 turns the six bits of a place (row, column) round by one;
// three times it is a transposition.
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

void add_power_sums(const RowTile& tile, const double* reflected, const TileRotation& rotation, const TileCodes& codes,
                    TilePowerSums& sums) {
  constexpr std::size_t at_once = 64;
  HWY_ALIGN std::uint16_t coded[at_once * tile_width];
  for (std::size_t row = 0; row < tile.rows; row += at_once) {
    const RowTile part{tile.values + row * tile.stride, tile.stride, HWY_MIN(at_once, tile.rows - row)};
    for (std::size_t c = 0; c < tile_width; c += hn::Lanes(Doubles())) {
      add_power_sums_of_vector(part, c, reflected + row, rotation, codes.codes_per_unit, sums, coded);
    }
    transpose(coded, part.rows, codes.column.data(), row);
  }
}

void project_rows(const float* rows, std::size_t count, std::size_t width, const double* axis, double* out) {
  const Doubles d;
  const Floats f;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t row = 0; row < count; ++row, rows += width) {
    auto even = hn::Zero(d);
    auto odd = hn::Zero(d);
    std::size_t c = 0;
    for (; c + 2 * lanes <= width; c += 2 * lanes) {
      even = hn::MulAdd(hn::PromoteTo(d, hn::LoadU(f, rows + c)), hn::LoadU(d, axis + c), even);
      odd = hn::MulAdd(hn::PromoteTo(d, hn::LoadU(f, rows + c + lanes)), hn::LoadU(d, axis + c + lanes), odd);
    }
    double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
    for (; c < width; ++c) sum += static_cast<double>(rows[c]) * axis[c];
    out[row] = sum;
  }
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

void add_power_sums(const RowTile& tile, const double* reflected, const TileRotation& rotation, const TileCodes& codes,
                    TilePowerSums& sums) {
  HWY_DYNAMIC_DISPATCH(add_power_sums)(tile, reflected, rotation, codes, sums);
}

void project_rows(const float* rows, std::size_t count, std::size_t width, const double* axis, double* out) {
  HWY_DYNAMIC_DISPATCH(project_rows)(rows, count, width, axis, out);
}

}  // namespace attention_plasticity
#endif
