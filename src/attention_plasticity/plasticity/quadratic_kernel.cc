#include "attention_plasticity/plasticity/quadratic_kernel.h"

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <new>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/plasticity/quadratic_kernel.cc"
#include "attention_plasticity/base/highway.h"
// After highway.h:
#include "attention_plasticity/plasticity/panel_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {

using D = TileTag<double>;
using V = TileVector<double>;

// Computes wᵀ S w for a tile of directions. Returns the address after the panels of S.
HWY_NOINLINE const double* square_tile(const double* HWY_RESTRICT panel, const double* HWY_RESTRICT w,
                                       std::size_t width, double* HWY_RESTRICT out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V total[tile_vectors];
  for (V& sum : total) sum = hn::Zero(d);
  for (std::size_t a = 0; a < width; a += panel_rows) {
    const double* wa = w + a * tile_vectors * lanes;
    V sums[panel_rows][tile_vectors];
    multiply_panel(panel, wa, width - a, sums);
    panel += panel_rows * (width - a);
    for (std::size_t r = 0; r < panel_rows; ++r) {
      for (std::size_t v = 0; v < tile_vectors; ++v) {
        total[v] = hn::MulAdd(hn::Load(d, wa + (r * tile_vectors + v) * lanes), sums[r][v], total[v]);
      }
    }
  }
  for (std::size_t v = 0; v < tile_vectors; ++v) hn::Store(total[v], d, out + v * lanes);
  return panel;
}

// Computes the sum of (x·w)² over `rows` rows x for a tile of directions. Returns the address after their panels.
HWY_NOINLINE const double* sum_square_tile(const double* HWY_RESTRICT panel, const double* HWY_RESTRICT w,
                                           std::size_t width, std::size_t rows, double* HWY_RESTRICT out) {
  const D d;
  V total[tile_vectors];
  for (V& sum : total) sum = hn::Zero(d);
  for (std::size_t row = 0; row < rows; row += panel_rows) {
    V sums[panel_rows][tile_vectors];
    multiply_panel(panel, w, width, sums);
    panel += panel_rows * width;
    for (const auto& of_row : sums) {
      for (std::size_t v = 0; v < tile_vectors; ++v) total[v] = hn::MulAdd(of_row[v], of_row[v], total[v]);
    }
  }
  for (std::size_t v = 0; v < tile_vectors; ++v) hn::Store(total[v], d, out + v * hn::Lanes(d));
  return panel;
}

// Computes w·mean for a tile of directions and four means.
HWY_NOINLINE void mean_tile(const double* HWY_RESTRICT panel, const double* HWY_RESTRICT w, std::size_t width,
                            double* HWY_RESTRICT out) {
  const D d;
  V sums[panel_rows][tile_vectors];
  multiply_panel(panel, w, width, sums);
  for (std::size_t r = 0; r < panel_rows; ++r) {
    for (std::size_t v = 0; v < tile_vectors; ++v)
      hn::Store(sums[r][v], d, out + (r * tile_vectors + v) * hn::Lanes(d));
  }
}

void evaluate_forms(std::size_t width, std::span<const std::optional<std::size_t>> rows, const double* mean_panels,
                    const double* panels, const Matrix& directions, Matrix& means, Matrix& squares) {
  const std::size_t groups = rows.size();
  const std::size_t tile = tile_size<double>();
  // Padded with zeros: the last panel has four rows even where the matrix has fewer left.
  const std::size_t padded_width = (width + panel_rows - 1) / panel_rows * panel_rows;
  const auto w = hwy::AllocateAligned<double>(padded_width * tile);
  const auto out = hwy::AllocateAligned<double>(panel_rows * tile);
  if (!w || !out) throw std::bad_alloc();
  std::fill_n(w.get(), padded_width * tile, 0.0);
  for (std::size_t first = 0; first < directions.rows(); first += tile) {
    const std::size_t count = std::min(tile, directions.rows() - first);
    for (std::size_t i = 0; i < count; ++i) {
      const double* from = directions.row(first + i).data();
      for (std::size_t c = 0; c < width; ++c) w[c * tile + i] = from[c];
    }
    for (std::size_t g = 0; g < groups; g += panel_rows) {
      mean_tile(mean_panels + g * width, w.get(), width, out.get());
      for (std::size_t r = 0; r < std::min(panel_rows, groups - g); ++r) {
        std::copy_n(out.get() + r * tile, count, means.row(g + r).data() + first);
      }
    }
    const double* panel = panels;
    for (std::size_t g = 0; g < groups; ++g) {
      const std::optional<std::size_t>& kept = rows[g];
      panel = kept ? sum_square_tile(panel, w.get(), width, *kept, out.get())
                   : square_tile(panel, w.get(), width, out.get());
      std::copy_n(out.get(), count, squares.row(g).data() + first);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(evaluate_forms);
constexpr std::size_t rows_of_panel = 4;

}  // namespace

void QuadraticForms::add_mean(std::span<const double> mean) {
  const std::size_t in_panel = groups_ % rows_of_panel;
  if (in_panel == 0) means_.resize(means_.size() + rows_of_panel * width_);
  double* panel = means_.data() + (groups_ - in_panel) * width_;
  for (std::size_t c = 0; c < width_; ++c) panel[c * rows_of_panel + in_panel] = mean[c];
  ++groups_;
}

double* QuadraticForms::add_panels(std::size_t values) {
  const std::size_t at = panels_.size();
  // Groups are about equally large.
  if (panels_.capacity() < at + values) panels_.reserve(std::max(expected_groups_ * values, 2 * at + values));
  panels_.resize(at + values);
  return panels_.data() + at;
}

void QuadraticForms::add_rows(std::span<const double> mean, const double* rows, std::size_t count, std::size_t stride) {
  add_mean(mean);
  rows_.emplace_back(count);
  const std::size_t panels = (count + rows_of_panel - 1) / rows_of_panel;
  double* panel = add_panels(panels * rows_of_panel * width_);
  for (std::size_t row = 0; row < count; ++row) {
    double* at = panel + (row - row % rows_of_panel) * width_ + row % rows_of_panel;
    for (std::size_t c = 0; c < width_; ++c) at[c * rows_of_panel] = rows[row * stride + c];
  }
}

void QuadraticForms::add(std::span<const double> mean, const double* scatter, std::size_t stride) {
  add_mean(mean);
  rows_.emplace_back();
  std::size_t values = 0;
  for (std::size_t a = 0; a < width_; a += rows_of_panel) values += rows_of_panel * (width_ - a);
  double* panel = add_panels(values);
  for (std::size_t a = 0; a < width_; a += rows_of_panel) {
    const std::size_t end = std::min(a + rows_of_panel, width_);
    for (std::size_t row = a; row < end; ++row) {
      double* at = panel + (row - a);
      at[rows_of_panel * (row - a)] = scatter[row * stride + row];
      // Twice, for the lower triangle.
      for (std::size_t b = row + 1; b < width_; ++b) at[rows_of_panel * (b - a)] = 2 * scatter[row * stride + b];
    }
    panel += rows_of_panel * (width_ - a);
  }
}

void QuadraticForms::evaluate(const Matrix& directions, Matrix& means, Matrix& squares) const {
  HWY_DYNAMIC_DISPATCH(evaluate_forms)(width_, rows_, means_.data(), panels_.data(), directions, means, squares);
}

}  // namespace attention_plasticity
#endif
