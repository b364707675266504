#include "attention_plasticity/stats/reflected_rows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/stats/row_tiles.h"

namespace attention_plasticity {
namespace {

// axis ∘ sign.
std::vector<double> oriented(std::span<const double> axis, std::span<const double> sign) {
  std::vector<double> result(axis.size());
  std::ranges::transform(axis, sign, result.begin(), std::multiplies{});
  return result;
}

}  // namespace

ReflectedRows::ReflectedRows(std::span<const float> rows, std::span<const double> sign, const Householder& reflection,
                             std::span<const double> mean, const std::vector<bool>& coded)
    : rows_(rows),
      sign_(sign.begin(), sign.end()),
      mean_(mean.begin(), mean.end()),
      twice_axis_(sign.size(), 0.0),
      across_(sign.size(), 0.0),
      along_(oriented(reflection.direction(), sign)),
      reflected_(rows.size() / sign.size()),
      along_slope_(along_.empty() ? 0 : size()),
      columns_(size(), coded) {
  const std::span<const double> axis = reflection.axis();
  for (std::size_t c = 0; c < axis.size(); ++c) {
    twice_axis_[c] = 2.0 * axis[c];
    across_[c] = axis[c] * sign[c];
  }
  choose_codes();
  sum_columns(coded);
}

std::vector<double> ReflectedRows::first_component() const {
  const bool is_reflected = std::ranges::any_of(across_, [](double u) { return u != 0; });
  if (is_reflected) return along_slope_;
  std::vector<double> first(size());
  for (std::size_t row = 0; row < first.size(); ++row) first[row] = value(row, 0);
  return first;
}

double ReflectedRows::rounding(std::size_t component) const {
  // The product of a row with u is a sum of width() rounded terms, whose errors add up like a random walk.
  const double error =
      4 * std::numeric_limits<double>::epsilon() * std::sqrt(static_cast<double>(width())) * twice_axis_[component];
  return error * error;
}

void ReflectedRows::project(std::size_t row, std::size_t count) {
  if (along_.empty()) return;  // a slope of 0 is not reflected
  project_rows(rows_.data() + row * width(), count, width(),
               {across_.data(), along_.data(), reflected_.data() + row, along_slope_.data() + row});
}

// The deviation of a few rows, evenly spaced, is accurate enough for the width of a code.
void ReflectedRows::choose_codes() {
  constexpr std::size_t most = 256;
  const std::size_t taken = std::min(size(), most);
  std::vector<double> squares(width(), 0.0);
  for (std::size_t i = 0; i < taken; ++i) {
    const std::size_t row = i * size() / taken;
    project(row, 1);
    for (std::size_t c = 0; c < width(); ++c) {
      const double y = value(row, c) - mean_[c];
      squares[c] += y * y;
    }
  }
  for (const double square : squares) {
    columns_.codes_per_unit.push_back(square > 0 ? 4096.0 / std::sqrt(square / static_cast<double>(taken)) : 4096.0);
  }
}

void ReflectedRows::sum_columns(const std::vector<bool>& coded) {
  RowTiles tiles(rows_, width());
  std::vector<TileReflection> reflection(tiles.tiles());
  std::vector<TileCodes> codes(tiles.tiles());
  // y ∘ sign is summed in place of y: a sign matters in odd powers only, and is applied to their sums below.
  const std::vector<double> scale = oriented(columns_.codes_per_unit, sign_);
  const std::vector<double> along = oriented(twice_axis_, sign_);
  const std::vector<double> shift = oriented(mean_, sign_);
  for (std::size_t tile = 0; tile < tiles.tiles(); ++tile) {
    reflection[tile] = {tiles.part(along, tile), tiles.part(shift, tile)};
    codes[tile].codes_per_unit = tiles.part(scale, tile);
    codes[tile].wanted = false;
    for (std::size_t c = 0; c < tile_width; ++c) {
      const std::size_t component = tile * tile_width + c;
      codes[tile].column[c] = columns_.codes(component).data();
      if (component < width() && coded[component]) codes[tile].wanted = true;
    }
  }
  std::vector<TilePowerSums> sums(tiles.tiles());
  for (std::size_t row = 0; row < size(); row += RowTiles::block) {
    throw_if_stopped_at(row);
    project(row, tiles.rows_from(row));
    for (std::size_t tile = 0; tile < tiles.tiles(); ++tile) {
      add_power_sums(tiles.tile(row, tile), reflected_.data() + row, reflection[tile], codes[tile], sums[tile]);
      for (std::uint16_t*& column : codes[tile].column) column += tiles.rows_from(row);
    }
  }
  for (std::size_t c = 0; c < width(); ++c) {
    const auto& power = sums[c / tile_width].power;
    const std::size_t i = c % tile_width;
    columns_.sums.push_back({size(), sign_[c] * power[0][i], power[1][i], sign_[c] * power[2][i], power[3][i]});
  }
}

ReflectedColumns::ReflectedColumns(std::size_t rows, const std::vector<bool>& coded)
    // Not a multiple of the page size, where columns would compete for the same cache sets.
    : rows_(rows), stride_((rows / 2048 + 1) * 2048 + 32) {
  const auto columns = static_cast<std::size_t>(std::ranges::count(coded, true));
  place_.assign((coded.size() + tile_width - 1) / tile_width * tile_width, columns);
  for (std::size_t component = 0, next = 0; component < coded.size(); ++component) {
    if (coded[component]) place_[component] = next++;
  }
  codes_ = std::make_unique_for_overwrite<std::uint16_t[]>((columns + 1) * stride_);
}

std::span<std::uint16_t> ReflectedColumns::codes(std::size_t component) {
  return {codes_.get() + place_[component] * stride_, rows_};
}

std::span<const std::uint16_t> ReflectedColumns::codes(std::size_t component) const {
  return {codes_.get() + place_[component] * stride_, rows_};
}

}  // namespace attention_plasticity
