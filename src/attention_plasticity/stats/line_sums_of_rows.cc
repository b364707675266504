#include <algorithm>

#include "attention_plasticity/stats/line_fit.h"
#include "attention_plasticity/stats/row_tiles.h"
#include "attention_plasticity/stats/sum.h"

namespace attention_plasticity {
namespace {

// The mean of up to 64 rows spread over all. With it subtracted, sums lose no digits to the mean. The mean of equal
// values is exactly their value.
std::vector<double> rough_mean(std::span<const float> rows, std::size_t width) {
  constexpr std::size_t most = 64;
  const std::size_t n = rows.size() / width;
  const std::size_t taken = std::min(n, most);
  std::vector<double> sum(width, 0.0);
  for (std::size_t i = 0; i < taken; ++i) {
    const float* row = rows.data() + i * n / taken * width;
    for (std::size_t c = 0; c < width; ++c) sum[c] += static_cast<double>(row[c]) - static_cast<double>(rows[c]);
  }
  for (std::size_t c = 0; c < width; ++c) sum[c] = static_cast<double>(rows[c]) + sum[c] / static_cast<double>(taken);
  return sum;
}

// t minus its mean, which is counted from the origin. The mean of equal values is exactly their value.
std::vector<double> centre(std::span<const double> t, LineSums& sums) {
  const auto n = static_cast<double>(t.size());
  sums.origin = line_origin(t);
  const double first = t[0];
  sums.mean_t = (first - sums.origin) + sum_terms(t.size(), [&](std::size_t i) { return t[i] - first; }) / n;
  std::vector<double> centred(t.size());
  for (std::size_t i = 0; i < t.size(); ++i) centred[i] = (t[i] - sums.origin) - sums.mean_t;
  sums.tt = sum_terms(t.size(), [&](std::size_t i) { return centred[i] * centred[i]; });
  return centred;
}

}  // namespace

LineSums sum_rows(std::span<const double> t, std::span<const float> rows, std::size_t width) {
  LineSums sums;
  sums.count = t.size();
  const std::vector<double> centred = centre(t, sums);
  const std::vector<double> shift = rough_mean(rows, width);
  RowTiles tiles(rows, width);
  std::vector<TileLineSums> of_tile(tiles.tiles());
  for (std::size_t row = 0; row < tiles.rows(); row += RowTiles::block) {
    for (std::size_t tile = 0; tile < of_tile.size(); ++tile) {
      add_line_sums(tiles.tile(row, tile), centred.data() + row, tiles.part(shift, tile), of_tile[tile]);
    }
  }
  const auto n = static_cast<double>(t.size());
  const double left_of_t = sum_terms(t.size(), [&](std::size_t i) { return centred[i]; });
  for (std::size_t c = 0; c < width; ++c) {
    const TileLineSums& tile = of_tile[c / tile_width];
    const double x = tile.x[c % tile_width];
    sums.mean.push_back(shift[c] + x / n);
    sums.tx.push_back(tile.tx[c % tile_width] - left_of_t * x / n);
    sums.xx.push_back(std::max(0.0, tile.xx[c % tile_width] - x * x / n));
  }
  return sums;
}

}  // namespace attention_plasticity
