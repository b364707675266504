#include "attention_plasticity/stats/rotated_rows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "attention_plasticity/stats/row_tiles.h"

namespace attention_plasticity {
namespace {

// axis ∘ sign, so that a row need not be oriented to be projected.
std::vector<double> oriented(std::span<const double> axis, std::span<const double> sign) {
  std::vector<double> result(axis.size());
  std::ranges::transform(axis, sign, result.begin(), std::multiplies{});
  return result;
}

std::vector<double> direction(std::span<const double> slope) {
  const double norm = std::sqrt(std::inner_product(slope.begin(), slope.end(), slope.begin(), 0.0));
  if (norm == 0) return {};
  std::vector<double> result(slope.begin(), slope.end());
  for (double& component : result) component /= norm;
  return result;
}

}  // namespace

RotatedRows::RotatedRows(std::span<const float> rows, std::span<const double> sign, std::span<const double> slope)
    : rows_(rows), sign_(sign.begin(), sign.end()), rotation_(slope), twice_axis_(sign.size(), 0.0) {
  const std::size_t n = rows.size() / width();
  reflected_.assign(n, 0.0);
  const std::span<const double> axis = rotation_.axis();
  for (std::size_t c = 0; c < axis.size(); ++c) twice_axis_[c] = 2.0 * axis[c];
  const std::vector<double> across = oriented(axis, sign);
  const std::vector<double> along = oriented(direction(slope), sign);
  if (!along.empty()) along_slope_.resize(n);
  for (std::size_t row = 0; row < n; row += RowTiles::block) {
    const std::size_t count = std::min(RowTiles::block, n - row);
    const float* first = rows.data() + row * width();
    if (!across.empty()) project_rows(first, count, width(), across.data(), reflected_.data() + row);
    if (!along.empty()) project_rows(first, count, width(), along.data(), along_slope_.data() + row);
  }
}

double RotatedRows::value(std::size_t row, std::size_t component) const {
  return static_cast<double>(rows_[row * width() + component]) * sign_[component] -
         reflected_[row] * twice_axis_[component];
}

std::vector<double> RotatedRows::first_component() const {
  if (!rotation_.axis().empty()) return along_slope_;
  std::vector<double> first(size());
  for (std::size_t row = 0; row < first.size(); ++row) first[row] = value(row, 0);
  return first;
}

// Of a few rows from all over: good for the width of codes.
std::vector<double> RotatedRows::rough_deviation(std::span<const double> mean) const {
  constexpr std::size_t most = 256;
  const std::size_t taken = std::min(size(), most);
  std::vector<double> deviation(width(), 0.0);
  for (std::size_t i = 0; i < taken; ++i) {
    for (std::size_t c = 0; c < width(); ++c) {
      const double y = value(i * size() / taken, c) - mean[c];
      deviation[c] += y * y;
    }
  }
  for (double& d : deviation) d = d > 0 ? std::sqrt(d / static_cast<double>(taken)) : 1.0;
  return deviation;
}

RotatedColumns RotatedRows::columns(std::span<const double> mean, const std::vector<bool>& coded) const {
  RotatedColumns result(size(), coded);
  for (const double deviation : rough_deviation(mean)) result.codes_per_unit.push_back(4096.0 / deviation);
  RowTiles tiles(rows_, width());
  std::vector<TileRotation> rotation(tiles.tiles());
  std::vector<TileCodes> codes(tiles.tiles());
  for (std::size_t tile = 0; tile < tiles.tiles(); ++tile) {
    rotation[tile] = {tiles.part(sign_, tile), tiles.part(twice_axis_, tile), tiles.part(mean, tile)};
    codes[tile].codes_per_unit = tiles.part(result.codes_per_unit, tile);
    for (std::size_t c = 0; c < tile_width; ++c) {
      codes[tile].column[c] = result.codes(tile * tile_width + c).data();
    }
  }
  std::vector<TilePowerSums> sums(tiles.tiles());
  for (std::size_t row = 0; row < size(); row += RowTiles::block) {
    for (std::size_t tile = 0; tile < tiles.tiles(); ++tile) {
      add_power_sums(tiles.tile(row, tile), reflected_.data() + row, rotation[tile], codes[tile], sums[tile]);
      for (std::uint16_t*& column : codes[tile].column) column += tiles.rows_from(row);
    }
  }
  for (std::size_t c = 0; c < width(); ++c) {
    const auto& power = sums[c / tile_width].power;
    const std::size_t i = c % tile_width;
    result.sums.push_back({size(), power[0][i], power[1][i], power[2][i], power[3][i]});
  }
  return result;
}

RotatedColumns::RotatedColumns(std::size_t rows, const std::vector<bool>& coded)
    // Not a multiple of the page size, or columns would share the sets of the cache.
    : rows_(rows), stride_((rows / 2048 + 1) * 2048 + 32) {
  const auto columns = static_cast<std::size_t>(std::ranges::count(coded, true));
  place_.assign((coded.size() + tile_width - 1) / tile_width * tile_width, columns);
  for (std::size_t component = 0, next = 0; component < coded.size(); ++component) {
    if (coded[component]) place_[component] = next++;
  }
  codes_ = std::make_unique_for_overwrite<std::uint16_t[]>((columns + 1) * stride_);
}

std::span<std::uint16_t> RotatedColumns::codes(std::size_t component) {
  return {codes_.get() + place_[component] * stride_, rows_};
}

std::span<const std::uint16_t> RotatedColumns::codes(std::size_t component) const {
  return {codes_.get() + place_[component] * stride_, rows_};
}

}  // namespace attention_plasticity
