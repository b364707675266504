#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "attention_plasticity/stats/row_kernels.h"

namespace attention_plasticity {

/// Float rows, one after the other, cut into what kernels take: some rows at a time, tile_width components at a time.
class RowTiles {
 public:
  /// Rows that stay in the first cache while their tiles are visited.
  static constexpr std::size_t block = 64;

  RowTiles(std::span<const float> rows, std::size_t width) : rows_(rows), width_(width) {}

  std::size_t rows() const { return rows_.size() / width_; }
  /// Of a row; the last one may reach beyond its end.
  std::size_t tiles() const { return (width_ + tile_width - 1) / tile_width; }
  std::size_t rows_from(std::size_t row) const { return std::min(block, rows() - row); }

  /// The rows row..row + rows_from(row) - 1 of the components from tile * tile_width on. Components beyond the width
  /// are 0. Good until the next call.
  RowTile tile(std::size_t row, std::size_t tile) {
    const std::size_t first = tile * tile_width;
    const float* values = rows_.data() + row * width_ + first;
    if (first + tile_width <= width_) {
      return {values, width_, rows_from(row), row + 2 * block <= rows() ? block : 0};
    }
    for (std::size_t r = 0; r < rows_from(row); ++r) {
      std::copy_n(values + r * width_, width_ - first, padded_.data() + r * tile_width);
    }
    return {padded_.data(), tile_width, rows_from(row)};
  }

  /// The tile's part of one entry for each component; 0 beyond the width.
  TileValues part(std::span<const double> values, std::size_t tile) const {
    TileValues part{};
    const std::size_t first = tile * tile_width;
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), std::min(tile_width, width_ - first),
                part.begin());
    return part;
  }

 private:
  std::span<const float> rows_;
  std::size_t width_;
  std::array<float, block * tile_width> padded_{};
};

}  // namespace attention_plasticity
