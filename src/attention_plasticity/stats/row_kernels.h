#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// Sums over float rows, compiled for several instruction sets and dispatched at run time. Tests compare them with plain
// loops.

namespace attention_plasticity {

/// Components of a tile: a cache line of floats.
inline constexpr std::size_t tile_width = 16;

using TileValues = std::array<double, tile_width>;

/// `tile_width` neighbouring components of consecutive rows; row r begins at values + r * stride.
struct RowTile {
  const float* values;
  std::size_t stride;
  std::size_t rows;
  /// Prefetch distance in rows; 0: none.
  std::size_t ahead = 0;
};

/// Sums over rows of x - shift, its square, and its product with t.
struct TileLineSums {
  TileValues x{};
  TileValues xx{};
  TileValues tx{};
};

/// Adds the rows of the tile. t has one entry for each row.
void add_line_sums(const RowTile& tile, const double* t, const TileValues& shift, TileLineSums& sums);

/// How a component of a reflected row follows from the row: x - shift - reflected * along, `reflected` being one number
/// for each row.
struct TileReflection {
  TileValues along{};
  TileValues shift{};
};

/// Sums over rows of the first four powers.
struct TilePowerSums {
  std::array<TileValues, 4> power{};
};

/// Where the reflected values y of a tile are kept as codes: those of component c at column[c], row after row. A code
/// is y * codes_per_unit + 32768, cut to a whole number and to the ends of its type, so that codes are in the order of
/// y * codes_per_unit.
struct TileCodes {
  bool wanted = true;  ///< false: no code is written
  TileValues codes_per_unit{};
  std::array<std::uint16_t*, tile_width> column{};
};

/// Adds the rows of the tile, reflected, and writes their codes; `reflected` has one entry for each row.
void add_power_sums(const RowTile& tile, const double* reflected, const TileReflection& reflection,
                    const TileCodes& codes, TilePowerSums& sums);

/// Two vectors that rows are projected on, and where their products with the rows go.
struct RowProjections {
  const double* a;
  const double* b;
  double* on_a;
  double* on_b;
};

/// on_a[r] = x_r · a and on_b[r] = x_r · b for `count` rows of `width` components, one after the other.
void project_rows(const float* rows, std::size_t count, std::size_t width, const RowProjections& projections);

}  // namespace attention_plasticity
