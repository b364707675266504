#include "attention_plasticity/plasticity/win_count_kernel.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/plasticity/win_count_kernel.cc"
#include "attention_plasticity/base/highway.h"
// After highway.h:
#include "attention_plasticity/plasticity/panel_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {

using D = TileTag<float>;
using V = TileVector<float>;

// Lists the products within the bound, as query · tile_size<float>() + direction.
HWY_NOINLINE void list_doubtful(const V sums[panel_rows][tile_vectors], float bound, std::size_t first_query,
                                std::vector<std::size_t>& doubtful) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float values[hn::MaxLanes(D())];
  for (std::size_t r = 0; r < panel_rows; ++r) {
    for (std::size_t v = 0; v < tile_vectors; ++v) {
      hn::Store(sums[r][v], d, values);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        if (!(std::abs(values[lane]) > bound)) {
          doubtful.push_back((first_query + r) * tile_size<float>() + v * lanes + lane);
        }
      }
    }
  }
}

// wins[i]: queries that certainly win along direction i of the tile; the uncertain ones are listed.
void count_tile(const float* panels, std::size_t queries, std::size_t width, const float* w, float bound, float* wins,
                std::vector<std::size_t>& doubtful) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V limit = hn::Set(d, bound);
  const V one = hn::Set(d, 1.0F);
  V count[tile_vectors];
  for (V& lane : count) lane = hn::Zero(d);
  for (std::size_t first = 0; first < queries; first += panel_rows) {
    V sums[panel_rows][tile_vectors];
    multiply_panel(panels + first * width, w, width, sums);
    V nearest = hn::Abs(sums[0][0]);
    for (const auto& of_query : sums) {
      for (std::size_t v = 0; v < tile_vectors; ++v) {
        nearest = hn::Min(nearest, hn::Abs(of_query[v]));
        count[v] = hn::Add(count[v], hn::IfThenElseZero(hn::Gt(of_query[v], limit), one));
      }
    }
    if (!hn::AllTrue(d, hn::Gt(nearest, limit))) list_doubtful(sums, bound, first, doubtful);
  }
  for (std::size_t v = 0; v < tile_vectors; ++v) hn::Store(count[v], d, wins + v * lanes);
}

std::size_t directions_of_tile() { return tile_size<float>(); }

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(directions_of_tile);
HWY_EXPORT(count_tile);

constexpr std::size_t queries_of_panel = 4;

double length(std::span<const double> x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

// How far a product of two vectors of length 1 in single precision may lie from the exact one: each of `width` products
// and sums rounds by 2^-24 of at most the sum of their absolute values, which is at most 1; rounding the components
// themselves adds two more, and the rest is margin, also for the rounding in double that the result is compared with.
float error_bound(std::size_t width) { return static_cast<float>(width + 8) * 0x1p-24F; }

// 1, 0 or, for a tie, 1/2.
double win(std::span<const double> query, std::span<const double> direction) {
  const double product = std::inner_product(query.begin(), query.end(), direction.begin(), 0.0);
  return product > 0 ? 1.0 : product == 0 ? 0.5 : 0.0;
}

}  // namespace

WinCounter::WinCounter(Matrix queries) : queries_(std::move(queries)) {
  const std::size_t width = queries_.cols();
  for (std::size_t i = 0; i < queries_.rows(); ++i) {
    if (length(queries_.row(i)) > 0) moving_.push_back(i);
  }
  panels_.resize((moving_.size() + queries_of_panel - 1) / queries_of_panel * queries_of_panel * width, 0.0F);
  for (std::size_t i = 0; i < moving_.size(); ++i) {
    const auto query = std::as_const(queries_).row(moving_[i]);
    const double scale = 1.0 / length(query);
    float* panel = panels_.data() + (i - i % queries_of_panel) * width + i % queries_of_panel;
    for (std::size_t c = 0; c < width; ++c) panel[c * queries_of_panel] = static_cast<float>(query[c] * scale);
  }
}

std::vector<double> WinCounter::count(const Matrix& directions) const {
  const std::size_t width = queries_.cols();
  const std::size_t tile = HWY_DYNAMIC_DISPATCH(directions_of_tile)();
  const auto resting = static_cast<double>(queries_.rows() - moving_.size());
  std::vector<double> wins(directions.rows());
  LargeVector<float> w(width * tile);
  LargeVector<float> certain(tile);
  std::vector<std::size_t> doubtful;
  for (std::size_t first = 0; first < directions.rows(); first += tile) {
    const std::size_t count = std::min(tile, directions.rows() - first);
    for (std::size_t i = 0; i < tile; ++i) {
      const auto direction = directions.row(first + std::min(i, count - 1));
      const double norm = length(direction);
      for (std::size_t c = 0; c < width; ++c) {
        w[c * tile + i] = norm > 0 ? static_cast<float>(direction[c] / norm) : 0.0F;
      }
    }
    doubtful.clear();
    HWY_DYNAMIC_DISPATCH(count_tile)
    (panels_.data(), moving_.size(), width, w.data(), error_bound(width), certain.data(), doubtful);
    for (std::size_t i = 0; i < count; ++i) wins[first + i] = static_cast<double>(certain[i]) + 0.5 * resting;
    for (const std::size_t entry : doubtful) {
      const std::size_t query = entry / tile;
      const std::size_t i = entry % tile;
      // Panels and tiles are filled up with vectors that do not count.
      if (query >= moving_.size() || i >= count) continue;
      wins[first + i] += win(queries_.row(moving_[query]), directions.row(first + i));
    }
  }
  return wins;
}

}  // namespace attention_plasticity
#endif
