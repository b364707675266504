#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "attention_plasticity/stats/row_kernels.h"

namespace attention_plasticity {

/// Cuts consecutive float rows into tiles for the kernels: `block` rows of tile_width components.
class RowTiles {
 public:
  /// Rows of a block. They fit into the first-level cache while their tiles are visited.
  static constexpr std::size_t block = 64;

  RowTiles(std::span<const float> rows, std::size_t width) : rows_(rows), width_(width) {}

  std::size_t rows() const { return rows_.size() / width_; }
  /// Tiles of a row. The last one may reach beyond the width.
  std::size_t tiles() const { return (width_ + tile_width - 1) / tile_width; }
  std::size_t rows_from(std::size_t row) const { return std::min(block, rows() - row); }

  /// Rows row..row + rows_from(row) - 1 and components tile * tile_width..(tile + 1) * tile_width - 1. Components
  /// beyond the width are 0. Valid until the next call.
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

  /// The tile's part of `values`, which has one entry for each component. 0 beyond the width.
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
