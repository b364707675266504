#include "attention_plasticity/rotation/row_sample.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#ifndef ATTENTION_PLASTICITY_ROW_SAMPLE_ROWS
#define ATTENTION_PLASTICITY_ROW_SAMPLE_ROWS
namespace attention_plasticity {
namespace {

// Rows of `width` numbers, in which the components of the pairs begin at two places. Numbers behind the pairs are read
// too, and are multiplied by the zeros that fill up a table. Blocks of rows share the upper bits of their positions.
struct Rows {
  const double* first;
  const double* second;
  std::size_t width;
  const std::uint32_t* lower;  // of each row: entry of the lower table
  const std::uint32_t* upper;  // of each block: entry of the upper table
  const std::uint32_t* begin;  // first row of each block, and the end
  std::size_t blocks;          // entries of `begin`
};

// PhaseTables, and where the sum goes.
struct Table {
  const double* lower;
  const double* upper;
  double* sum;
};

}  // namespace
}  // namespace attention_plasticity
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention_plasticity/rotation/row_sample.cc"
#include "attention_plasticity/base/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attention_plasticity {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Adds rows that are un-rotated by two tables at once, so that rows are read once for both, and writes the sums: first
// components, then second ones, `stride` of each. Entries of tables hold `stride` cosines, then sines; `stride` is a
// multiple of 8. Works on few pairs at a time, so that their part of the tables stays in the cache.
void sum_unrotated(const Rows& rows, std::size_t stride, const std::array<Table, 2>& tables) {
  const hn::CappedTag<double, 8> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const double* const lower0 = tables[0].lower;
  const double* const lower1 = tables[1].lower;
  for (std::size_t j = 0; j < stride; j += lanes) {
    V sum_x0 = hn::Zero(d), sum_y0 = sum_x0, sum_x1 = sum_x0, sum_y1 = sum_x0;
    for (std::size_t b = 0; b + 1 < rows.blocks; ++b) {
      // Eight running sums, so that additions do not wait for each other.
      V xc0 = hn::Zero(d), yc0 = xc0, xs0 = xc0, ys0 = xc0, xc1 = xc0, yc1 = xc0, xs1 = xc0, ys1 = xc0;
      for (std::size_t i = rows.begin[b]; i < rows.begin[b + 1]; ++i) {
        const V x = hn::LoadU(d, rows.first + rows.width * i + j);
        const V y = hn::LoadU(d, rows.second + rows.width * i + j);
        const std::size_t at = 2 * stride * rows.lower[i] + j;
        const V c0 = hn::LoadU(d, lower0 + at);
        const V s0 = hn::LoadU(d, lower0 + at + stride);
        xc0 = hn::MulAdd(x, c0, xc0);
        yc0 = hn::MulAdd(y, c0, yc0);
        xs0 = hn::MulAdd(x, s0, xs0);
        ys0 = hn::MulAdd(y, s0, ys0);
        const V c1 = hn::LoadU(d, lower1 + at);
        const V s1 = hn::LoadU(d, lower1 + at + stride);
        xc1 = hn::MulAdd(x, c1, xc1);
        yc1 = hn::MulAdd(y, c1, yc1);
        xs1 = hn::MulAdd(x, s1, xs1);
        ys1 = hn::MulAdd(y, s1, ys1);
      }
      const auto add = [&](const Table& table, V x, V y, V& sum_x, V& sum_y) {
        const double* const upper = table.upper + 2 * stride * rows.upper[b] + j;
        const V c = hn::LoadU(d, upper);
        const V s = hn::LoadU(d, upper + stride);
        sum_x = hn::MulAdd(x, c, hn::MulAdd(y, s, sum_x));
        sum_y = hn::NegMulAdd(x, s, hn::MulAdd(y, c, sum_y));
      };
      add(tables[0], hn::Add(xc0, ys0), hn::Sub(yc0, xs0), sum_x0, sum_y0);
      add(tables[1], hn::Add(xc1, ys1), hn::Sub(yc1, xs1), sum_x1, sum_y1);
    }
    hn::StoreU(sum_x0, d, tables[0].sum + j);
    hn::StoreU(sum_y0, d, tables[0].sum + stride + j);
    hn::StoreU(sum_x1, d, tables[1].sum + j);
    hn::StoreU(sum_y1, d, tables[1].sum + stride + j);
  }
}

// Fills the entries of a table whose numbers have more than one bit, each from that of its lowest bit and that of its
// other bits. Multiplies and adds apart, so that every processor computes the same tables.
void fill_products(double* table, std::size_t stride, std::size_t count) {
  const hn::CappedTag<double, 8> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t entry = 3; entry < count; ++entry) {
    const std::size_t others = entry & (entry - 1);
    if (others == 0) continue;
    const double* const one = table + 2 * stride * others;
    const double* const other = table + 2 * stride * (entry - others);
    double* const product = table + 2 * stride * entry;
    for (std::size_t j = 0; j < stride; j += lanes) {
      const auto c1 = hn::LoadU(d, one + j);
      const auto s1 = hn::LoadU(d, one + stride + j);
      const auto c2 = hn::LoadU(d, other + j);
      const auto s2 = hn::LoadU(d, other + stride + j);
      hn::StoreU(hn::Sub(hn::Mul(c1, c2), hn::Mul(s1, s2)), d, product + j);
      hn::StoreU(hn::Add(hn::Mul(s1, c2), hn::Mul(c1, s2)), d, product + stride + j);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attention_plasticity
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attention_plasticity {
namespace {

HWY_EXPORT(sum_unrotated);
HWY_EXPORT(fill_products);

constexpr std::size_t padding = 8;

std::size_t padded(std::size_t pairs) { return (pairs + padding - 1) / padding * padding; }

// Entries 0 .. count - 1: the cosines and sines of (entry << shift) f, and zeros after each.
LargeVector<double> filled_table(const std::vector<double>& frequencies, std::size_t stride, std::size_t count,
                                 std::size_t shift) {
  LargeVector<double> table;
  table.resize(2 * stride * count);
  // The sine of every bit; entry 0 has none.
  for (std::size_t entry = 0; entry < count; entry = entry == 0 ? 1 : 2 * entry) {
    double* const cosine = table.data() + 2 * stride * entry;
    double* const sine = cosine + stride;
    std::fill_n(cosine, 2 * stride, 0);
    const auto tokens = static_cast<double>(entry << shift);
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      cosine[i] = std::cos(tokens * frequencies[i]);
      sine[i] = std::sin(tokens * frequencies[i]);
    }
  }
  HWY_DYNAMIC_DISPATCH(fill_products)(table.data(), stride, count);
  return table;
}

double squared_length(std::span<const double> vector) {
  return std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0);
}

}  // namespace

RowSample::RowSample(const RowsView& rows) : rows_(std::min(rows.size(), most_rows)) {
  std::vector<std::size_t> chosen(rows_);
  for (std::size_t i = 0; i < rows_; ++i) chosen[i] = i * rows.size() / rows_;
  // Stable, so that sums have one order.
  std::ranges::stable_sort(chosen, {}, [&](std::size_t row) { return rows.position[row]; });
  positions_.reserve(rows_);
  for (const std::size_t row : chosen) {
    if (positions_.empty() || positions_.back() != rows.position[row]) positions_.push_back(rows.position[row]);
  }
  sums_.assign(positions_.size() * rows.width + padding, 0);
  total_.resize(rows.width);
  std::size_t at = 0;
  for (const std::size_t row : chosen) {
    if (positions_[at] != rows.position[row]) ++at;
    const std::span<const float> vector = rows.row(row);
    double* const sum = sums_.data() + at * rows.width;
    double squares = 0;
    for (std::size_t c = 0; c < vector.size(); ++c) {
      const double x = vector[c];
      sum[c] += x;
      total_[c] += x;
      squares += x * x;
    }
    energy_ += squares;
  }
  constexpr double most = 1U << 31;
  const bool are_whole = std::ranges::all_of(
      positions_, [](double position) { return position < most && position == std::floor(position); });
  if (are_whole) whole_positions_.assign(positions_.begin(), positions_.end());
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

PairedSample::PairedSample(const RowSample& sample, RotaryLayout layout)
    : sample_(&sample), layout_(layout), rows_(sample.sums()) {
  if (layout == RotaryLayout::half) return;
  const std::size_t width = sample.width();
  const std::size_t even = (width + 1) / 2;
  split_.assign(width * sample.positions().size() + padding, 0);
  for (std::size_t p = 0; p < sample.positions().size(); ++p) {
    const std::span<const double> sum = sample.sum(p);
    double* const row = split_.data() + p * width;
    for (std::size_t i = 0; i < even; ++i) row[i] = sum[2 * i];
    for (std::size_t i = 0; i < width / 2; ++i) row[even + i] = sum[2 * i + 1];
  }
  rows_ = split_.data();
}

PairedSample::Places PairedSample::places(std::size_t first, std::size_t pairs) const {
  if (layout_ == RotaryLayout::half) return {first, first + pairs};
  const std::size_t even = (sample_->width() + 1) / 2;
  return first % 2 == 0 ? Places{first / 2, even + first / 2} : Places{even + first / 2, first / 2 + 1};
}

double PairedSample::squared_sum(std::size_t first, const PhaseTables& tables) const {
  return squared_sums(first, tables, tables).first;
}

std::pair<double, double> PairedSample::squared_sums(std::size_t first, const PhaseTables& one,
                                                     const PhaseTables& other) const {
  const std::size_t pairs = one.frequencies().size();
  const std::span<const double> total = sample_->total();
  const double unrotated = squared_length(total.first(first)) + squared_length(total.subspan(first + 2 * pairs));
  if (pairs == 0) return {unrotated, unrotated};
  const Places at = places(first, pairs);
  if (!sample_->has_whole_positions()) {
    return {unrotated + squared_sum_of_any_positions(at, one.frequencies()),
            unrotated + squared_sum_of_any_positions(at, other.frequencies())};
  }
  const std::vector<std::uint32_t>& positions = sample_->whole_positions();
  const std::size_t bits = one.lower_bits();
  std::vector<std::uint32_t> lower(positions.size());
  std::vector<std::uint32_t> upper;
  std::vector<std::uint32_t> begin;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::uint32_t block = positions[i] >> bits;
    lower[i] = positions[i] - (block << bits);
    if (!upper.empty() && upper.back() == block) continue;
    upper.push_back(block);
    begin.push_back(static_cast<std::uint32_t>(i));
  }
  begin.push_back(static_cast<std::uint32_t>(positions.size()));
  std::vector<double> sum(2 * one.stride());
  std::vector<double> other_sum(2 * one.stride());
  HWY_DYNAMIC_DISPATCH(sum_unrotated)
  ({rows_ + at.first, rows_ + at.second, sample_->width(), lower.data(), upper.data(), begin.data(), begin.size()},
   one.stride(),
   {Table{one.lower(0), one.upper(0), sum.data()}, Table{other.lower(0), other.upper(0), other_sum.data()}});
  return {unrotated + squared_length(sum), unrotated + squared_length(other_sum)};
}

double PairedSample::squared_sum_of_any_positions(const Places& places, const std::vector<double>& frequencies) const {
  double squares = 0;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    double real = 0;
    double imaginary = 0;
    for (std::size_t p = 0; p < sample_->positions().size(); ++p) {
      const double angle = sample_->positions()[p] * frequencies[i];
      const double cosine = std::cos(angle);
      const double sine = std::sin(angle);
      const double* const row = rows_ + p * sample_->width();
      const double x = row[places.first + i];
      const double y = row[places.second + i];
      real += x * cosine + y * sine;
      imaginary += y * cosine - x * sine;
    }
    squares += real * real + imaginary * imaginary;
  }
  return squares;
}

double fixed_under(const RowSample& sample, const Rotation& rotation) {
  const auto last = sample.has_whole_positions() ? static_cast<std::size_t>(sample.positions().back()) : 0;
  const PairedSample paired(sample, rotation.layout);
  return sample.fixed(paired.squared_sum(rotation.first, PhaseTables(rotation.frequency, last)));
}

}  // namespace attention_plasticity
#endif
