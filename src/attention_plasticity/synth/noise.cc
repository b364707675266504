#include "attention_plasticity/synth/noise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace attention_plasticity {
namespace {

constexpr std::size_t block_rows = 64;
// Four floats side by side. Each result is summed in a fixed order, so it is the same on every machine. The vectors are
// written out because compilers do not find them in the loops of multiply_tile, which then takes twice as long.
using Lanes [[gnu::vector_size(16)]] = float;
constexpr std::size_t lanes = 4;
// A tile of results stays in registers while all rows of the root are added to it.
constexpr std::size_t tile_rows = 4;
constexpr std::size_t tile_cols = 2 * lanes;
struct Tile {
  std::array<std::array<float, tile_cols>, tile_rows> rows;
};

Tile multiply_tile(const float* normals, std::size_t dim, const float* root, std::size_t stride) {
  std::array<std::array<Lanes, 2>, tile_rows> sums{};
  for (std::size_t i = 0; i < dim; ++i) {
    Lanes left;
    Lanes right;
    std::memcpy(&left, root + i * stride, sizeof left);
    std::memcpy(&right, root + i * stride + lanes, sizeof right);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      const float normal = normals[r * dim + i];
      sums[r][0] += normal * left;
      sums[r][1] += normal * right;
    }
  }
  return std::bit_cast<Tile>(sums);
}

// rows = normals root. `normals` is padded to whole tiles of rows.
void multiply(const std::vector<float>& normals, std::size_t dim, const std::vector<float>& root, std::size_t stride,
              std::span<float> rows) {
  const std::size_t count = rows.size() / dim;
  for (std::size_t r = 0; r < count; r += tile_rows) {
    for (std::size_t c = 0; c < dim; c += tile_cols) {
      const Tile tile = multiply_tile(normals.data() + r * dim, dim, root.data() + c, stride);
      const std::size_t width = std::min(tile_cols, dim - c);
      for (std::size_t k = 0; k < std::min(tile_rows, count - r); ++k) {
        std::copy_n(tile.rows[k].begin(), width, rows.begin() + static_cast<std::ptrdiff_t>((r + k) * dim + c));
      }
    }
  }
}

}  // namespace

Noise::Noise(const HeadModel& model, Tails tails) : dim_(model.dim()), tails_(tails) {
  if (model.axes.rows() == 0) return;
  stride_ = (dim_ + tile_cols - 1) / tile_cols * tile_cols;
  root_.assign(dim_ * stride_, 0.0F);
  for (std::size_t i = 0; i < dim_; ++i) {
    const double deviation = std::sqrt(model.eigenvalues[i]);
    std::ranges::transform(model.axes.row(i), root_.begin() + static_cast<std::ptrdiff_t>(i * stride_),
                           [deviation](double component) { return static_cast<float>(deviation * component); });
  }
}

void Noise::draw(NormalSource& normals, std::span<float> rows) const {
  std::vector<float> block(root_.empty() ? 0 : block_rows * dim_);
  for (std::size_t done = 0; done < rows.size();) {
    const std::size_t size = std::min(block_rows * dim_, rows.size() - done);
    const std::span<float> out = rows.subspan(done, size);
    if (root_.empty()) {
      normals.fill(out);
    } else {
      normals.fill(std::span(block).first(size));
      multiply(block, dim_, root_, stride_, out);
    }
    if (tails_ == Tails::heavy) stretch(normals, out);
    done += size;
  }
}

void Noise::stretch(NormalSource& normals, std::span<float> rows) const {
  for (std::size_t start = 0; start < rows.size(); start += dim_) {
    double chi_square = 0;
    for (int k = 0; k < heavy_degrees_of_freedom; ++k) {
      const double normal = normals.next();
      chi_square += normal * normal;
    }
    const auto factor = static_cast<float>(std::sqrt((heavy_degrees_of_freedom - 2) / chi_square));
    for (float& component : rows.subspan(start, dim_)) component *= factor;
  }
}

}  // namespace attention_plasticity
