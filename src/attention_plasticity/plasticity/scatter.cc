#include "attention_plasticity/plasticity/scatter.h"

#include <algorithm>
#include <cmath>

#include "attention_plasticity/plasticity/scatter_kernel.h"

namespace attention_plasticity {
namespace {

// As many rows as leave the block in the caches while all tiles of the sums pass over it.
constexpr std::size_t block_rows = 96;

}  // namespace

ScatterSum::ScatterSum(std::size_t width)
    : width_(width),
      stride_(scatter_stride(width)),
      block_((block_rows + 1) * stride_, 0.0),
      origin_(stride_, 0.0),
      block_mean_(stride_, 0.0),
      from_origin_(stride_, 0.0),
      mean_(stride_, 0.0),
      scatter_(stride_ * stride_, 0.0) {}

std::span<double> ScatterSum::add() {
  if (in_block_ == block_rows) finish();
  return {block_.data() + stride_ * in_block_++, width_};
}

void ScatterSum::centre_block() {
  if (count_ == 0) std::copy_n(block_.begin(), stride_, origin_.begin());
  centre_rows(block_.data(), in_block_, stride_, origin_.data(), block_mean_.data());
}

void ScatterSum::finish() {
  if (in_block_ == 0) return;
  centre_block();
  const auto n = static_cast<double>(count_);
  const auto m = static_cast<double>(in_block_);
  const double share = m / (n + m);
  const double root_between = std::sqrt(n * share);
  double* between = block_.data() + stride_ * in_block_;
  for (std::size_t c = 0; c < width_; ++c) {
    const double shift = block_mean_[c] - from_origin_[c];
    between[c] = root_between * shift;
    from_origin_[c] += share * shift;
    mean_[c] = origin_[c] + from_origin_[c];
  }
  add_outer_products(block_.data(), in_block_ + 1, stride_, scatter_.data());
  count_ += in_block_;
  in_block_ = 0;
}

const double* ScatterSum::finish_rows(std::size_t most) {
  if (count_ > 0 || in_block_ > most) return nullptr;
  if (in_block_ > 0) {
    centre_block();
    for (std::size_t c = 0; c < width_; ++c) mean_[c] = origin_[c] + block_mean_[c];
  }
  count_ = in_block_;
  in_block_ = 0;
  return block_.data();
}

void ScatterSum::clear() {
  count_ = 0;
  in_block_ = 0;
  std::ranges::fill(from_origin_, 0.0);
  std::ranges::fill(mean_, 0.0);
  std::ranges::fill(scatter_, 0.0);
}

}  // namespace attention_plasticity
