#include "attention_plasticity/rotary/row_sample.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/rotary/row_sample.cc"
#include "attention_plasticity/base/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Un-rotates `count` vectors by their entry of a table and adds them; then un-rotates the sum by `upper` and adds it to
// `sum`. Vectors, entries and `sum` hold two parts of `stride` numbers, a multiple of 8: first and second components,
// cosines and sines. Four sums for each vector of pairs, so that additions do not wait for each other.
void add_unrotated(const double* HWY_RESTRICT vectors, std::size_t count, std::size_t stride,
                   const double* HWY_RESTRICT table, const std::uint32_t* HWY_RESTRICT entry,
                   const double* HWY_RESTRICT upper, double* HWY_RESTRICT sum) {
  const hn::CappedTag<double, 4> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < stride; j += 2 * lanes) {
    const std::size_t k = j + lanes;
    V xc0 = hn::Zero(d), yc0 = xc0, xs0 = xc0, ys0 = xc0, xc1 = xc0, yc1 = xc0, xs1 = xc0, ys1 = xc0;
    for (std::size_t i = 0; i < count; ++i) {
      const double* HWY_RESTRICT vector = vectors + 2 * stride * i;
      const double* HWY_RESTRICT phase = table + 2 * stride * entry[i];
      const V x0 = hn::LoadU(d, vector + j);
      const V y0 = hn::LoadU(d, vector + stride + j);
      const V c0 = hn::LoadU(d, phase + j);
      const V s0 = hn::LoadU(d, phase + stride + j);
      xc0 = hn::MulAdd(x0, c0, xc0);
      yc0 = hn::MulAdd(y0, c0, yc0);
      xs0 = hn::MulAdd(x0, s0, xs0);
      ys0 = hn::MulAdd(y0, s0, ys0);
      const V x1 = hn::LoadU(d, vector + k);
      const V y1 = hn::LoadU(d, vector + stride + k);
      const V c1 = hn::LoadU(d, phase + k);
      const V s1 = hn::LoadU(d, phase + stride + k);
      xc1 = hn::MulAdd(x1, c1, xc1);
      yc1 = hn::MulAdd(y1, c1, yc1);
      xs1 = hn::MulAdd(x1, s1, xs1);
      ys1 = hn::MulAdd(y1, s1, ys1);
    }
    const auto finish = [&](std::size_t at, V x, V y) {
      const V c = hn::LoadU(d, upper + at);
      const V s = hn::LoadU(d, upper + stride + at);
      hn::StoreU(hn::Add(hn::LoadU(d, sum + at), hn::MulAdd(x, c, hn::Mul(y, s))), d, sum + at);
      hn::StoreU(hn::Add(hn::LoadU(d, sum + stride + at), hn::NegMulAdd(x, s, hn::Mul(y, c))), d, sum + stride + at);
    };
    finish(j, hn::Add(xc0, ys0), hn::Sub(yc0, xs0));
    finish(k, hn::Add(xc1, ys1), hn::Sub(yc1, xs1));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(add_unrotated);

constexpr std::size_t padding = 8;

std::size_t padded(std::size_t pairs) { return (pairs + padding - 1) / padding * padding; }

// Fills entries 0 .. count - 1 with the cosines and sines of (entry << shift) f. An entry is the product of those of
// its lowest bit and of its other bits.
std::vector<double> filled_table(const std::vector<double>& frequencies, std::size_t stride, std::size_t count,
                                 std::size_t shift) {
  std::vector<double> table(2 * stride * count);
  const std::size_t pairs = frequencies.size();
  for (std::size_t entry = 0; entry < count; ++entry) {
    double* const cosine = table.data() + 2 * stride * entry;
    double* const sine = cosine + stride;
    const std::size_t others = entry & (entry - 1);
    if (entry == 0 || others == 0) {
      const auto tokens = static_cast<double>(entry << shift);
      for (std::size_t i = 0; i < pairs; ++i) {
        cosine[i] = std::cos(tokens * frequencies[i]);
        sine[i] = std::sin(tokens * frequencies[i]);
      }
      continue;
    }
    const double* const c1 = table.data() + 2 * stride * others;
    const double* const s1 = c1 + stride;
    const double* const c2 = table.data() + 2 * stride * (entry - others);
    const double* const s2 = c2 + stride;
    for (std::size_t i = 0; i < pairs; ++i) {
      cosine[i] = c1[i] * c2[i] - s1[i] * s2[i];
      sine[i] = s1[i] * c2[i] + c1[i] * s2[i];
    }
  }
  return table;
}

double squared_length(std::span<const double> vector) {
  return std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0);
}

}  // namespace

RowSample::RowSample(const HeadRows& rows) : rows_(std::min(rows.size(), most_rows)) {
  std::vector<std::size_t> chosen(rows_);
  for (std::size_t i = 0; i < rows_; ++i) chosen[i] = i * rows.size() / rows_;
  // Stable, so that sums have one order.
  std::ranges::stable_sort(chosen, {}, [&](std::size_t row) { return rows.position[row]; });
  positions_.reserve(rows_);
  for (const std::size_t row : chosen) {
    if (positions_.empty() || positions_.back() != rows.position[row]) positions_.push_back(rows.position[row]);
  }
  sums_ = Matrix(positions_.size(), rows.width);
  std::size_t at = 0;
  for (const std::size_t row : chosen) {
    if (positions_[at] != rows.position[row]) ++at;
    const std::span<const float> vector = rows.row(row);
    const std::span<double> sum = sums_.row(at);
    double squares = 0;
    for (std::size_t c = 0; c < vector.size(); ++c) {
      const double x = vector[c];
      sum[c] += x;
      squares += x * x;
    }
    energy_ += squares;
  }
  constexpr double most = 1U << 31;
  has_whole_positions_ =
      std::ranges::all_of(positions_, [](double position) { return position < most && position == std::floor(position); });
}

double RowSample::fixed(double squared_sum) const {
  const auto m = static_cast<double>(rows_);
  return (squared_sum - energy_) / (m * (m - 1));
}

PhaseTables::PhaseTables(std::vector<double> frequencies, std::size_t last)
    : frequencies_(std::move(frequencies)),
      last_(last),
      lower_bits_((static_cast<std::size_t>(std::bit_width(last)) + 1) / 2),
      stride_(padded(frequencies_.size())),
      lower_(filled_table(frequencies_, stride_, std::size_t{1} << lower_bits_, 0)),
      upper_(filled_table(frequencies_, stride_, (last >> lower_bits_) + 1, lower_bits_)) {}

SamplePairs::SamplePairs(const RowSample& sample, RotaryLayout layout, std::size_t first, std::size_t dim)
    : sample_(sample), pairs_(dim / 2), stride_(padded(pairs_)), components_(2 * stride_ * sample.positions().size()) {
  const bool half = layout == RotaryLayout::half;
  const std::size_t step = half ? 1 : 2;
  const std::size_t partner = half ? pairs_ : 1;
  std::vector<double> all(sample.width());
  for (std::size_t p = 0; p < sample.positions().size(); ++p) {
    const std::span<const double> sum = sample.sum(p);
    double* const x = components_.data() + 2 * stride_ * p;
    double* const y = x + stride_;
    for (std::size_t i = 0; i < pairs_; ++i) {
      x[i] = sum[first + i * step];
      y[i] = sum[first + i * step + partner];
    }
    for (std::size_t c = 0; c < first; ++c) all[c] += sum[c];
    for (std::size_t c = first + dim; c < sum.size(); ++c) all[c] += sum[c];
  }
  unrotated_ = squared_length(all);
}

double SamplePairs::squared_sum(const PhaseTables& tables) const {
  if (!sample_.has_whole_positions()) return unrotated_ + squared_sum_of_any_positions(tables.frequencies());
  const std::vector<double>& positions = sample_.positions();
  const std::size_t bits = tables.lower_bits();
  std::vector<std::uint32_t> lower(positions.size());
  std::vector<double> sum(2 * stride_);
  const auto kernel = HWY_DYNAMIC_POINTER(add_unrotated);
  for (std::size_t begin = 0; begin < positions.size();) {
    const std::size_t block = static_cast<std::size_t>(positions[begin]) >> bits;
    std::size_t end = begin;
    for (; end < positions.size(); ++end) {
      const auto position = static_cast<std::size_t>(positions[end]);
      if (position >> bits != block) break;
      lower[end] = static_cast<std::uint32_t>(position - (block << bits));
    }
    kernel(components_.data() + 2 * stride_ * begin, end - begin, stride_, tables.lower(0), lower.data() + begin,
           tables.upper(block), sum.data());
    begin = end;
  }
  return unrotated_ + squared_length(sum);
}

double SamplePairs::squared_sum_of_any_positions(const std::vector<double>& frequencies) const {
  double squares = 0;
  for (std::size_t i = 0; i < pairs_; ++i) {
    double real = 0;
    double imaginary = 0;
    for (std::size_t p = 0; p < sample_.positions().size(); ++p) {
      const double angle = sample_.positions()[p] * frequencies[i];
      const double cosine = std::cos(angle);
      const double sine = std::sin(angle);
      const double x = components_[2 * stride_ * p + i];
      const double y = components_[2 * stride_ * p + stride_ + i];
      real += x * cosine + y * sine;
      imaginary += y * cosine - x * sine;
    }
    squares += real * real + imaginary * imaginary;
  }
  return squares;
}

double fixed_under(const RowSample& sample, const Rotation& rotation) {
  const SamplePairs pairs(sample, rotation.layout, rotation.first, rotation.dim());
  const auto last = sample.has_whole_positions() ? static_cast<std::size_t>(sample.positions().back()) : 0;
  return sample.fixed(pairs.squared_sum(PhaseTables(rotation.frequency, last)));
}

}  // namespace attention_plasticity
#endif
