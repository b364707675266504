#include "attention_plasticity/stats/kolmogorov_cells.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "attention_plasticity/stats/code_kernels.h"
#include "attention_plasticity/stats/normal.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t all_codes = std::size_t{1} << 16;
constexpr std::size_t coarse_cells = 1024;
constexpr std::size_t codes_in_coarse_cell = all_codes / coarse_cells;

// Phi is taken as straight between two entries of a table, and inside of a coarse cell. Its second derivative is
// nowhere larger than 0.242, which bounds what that is off by.
constexpr double straight_error(double width) { return 0.242 / 8.0 * width * width; }

// Phi between -6 and 6; those at the ends beyond.
class NormalTable {
 public:
  NormalTable() {
    for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i] = normal_cdf(static_cast<double>(i) / density - end);
  }
  double operator()(double z) const {
    const double place = std::clamp((z + end) * density, 0.0, static_cast<double>(entries_.size() - 2));
    const auto i = static_cast<std::size_t>(place);
    return entries_[i] + (place - static_cast<double>(i)) * (entries_[i + 1] - entries_[i]);
  }

  static constexpr double density = 128.0;
  static constexpr double end = 6.0;

 private:
  std::array<double, static_cast<std::size_t>(2.0 * end * density) + 2> entries_{};
};

const NormalTable& normal_table() {
  static const NormalTable table;
  return table;
}

// Cells that hold a handful of values where most of them are: with m in a cell, about 4 m² lie where the bounds leave
// the largest distance open.
unsigned bits_within_cell(std::size_t n) {
  const std::size_t cells = std::bit_ceil(std::clamp(n, coarse_cells, all_codes));
  return static_cast<unsigned>(std::countr_zero(all_codes / cells));
}

// Four codes to a load: counting does little else but load and store.
template <class Count>
void count_codes(std::span<const std::uint16_t> codes, unsigned bits, Count* counts) {
  std::size_t i = 0;
  for (; i + 4 <= codes.size(); i += 4) {
    std::uint64_t four = 0;
    std::memcpy(&four, codes.data() + i, sizeof four);
    ++counts[(four & 0xffff) >> bits];
    ++counts[((four >> 16) & 0xffff) >> bits];
    ++counts[((four >> 32) & 0xffff) >> bits];
    ++counts[(four >> 48) >> bits];
  }
  for (; i < codes.size(); ++i) ++counts[codes[i] >> bits];
}

template <class Count>
std::uint32_t sum_of(std::span<const Count> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint32_t{0});
}

// The counts of `cells` cells at a time; `eights` is memory to work in.
void sum_cells(std::span<const std::uint32_t> counts, std::size_t cells, std::vector<std::uint64_t>&,
               std::span<std::uint32_t> sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sum_of(counts.subspan(i * cells, cells));
}

void sum_cells(std::span<const std::uint8_t> counts, std::size_t cells, std::vector<std::uint64_t>& eights,
               std::span<std::uint32_t> sums) {
  if (cells < 8) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sum_of(counts.subspan(i * cells, cells));
    return;
  }
  eights.resize(counts.size() / 8);
  sum_eights(counts.data(), eights.size(), eights.data());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto inside = std::span(eights).subspan(i * cells / 8, cells / 8);
    sums[i] = static_cast<std::uint32_t>(std::accumulate(inside.begin(), inside.end(), std::uint64_t{0}));
  }
}

}  // namespace

double KolmogorovCells::distance(const CodedSample& sample) {
  if (sample.codes.empty()) return 0.0;
  count(sample);
  find_candidates();
  collect(sample.codes);
  values_.resize(found_.size());
  sample.exact(found_, values_);
  std::ranges::sort(values_);
  return largest_at_values();
}

void KolmogorovCells::count(const CodedSample& sample) {
  n_ = static_cast<double>(sample.codes.size());
  share_ = 1.0 / n_;
  bits_ = bits_within_cell(sample.codes.size());
  below_.assign(coarse_cells + 1, 0);  // the first one stays 0
  const auto count_into = [&](auto& counts) {
    counts.assign(all_codes >> bits_, 0);
    count_codes(sample.codes, bits_, counts.data());
    sum_cells(counts, counts.size() / coarse_cells, eights_, std::span(below_).subspan(1));
    std::partial_sum(below_.begin(), below_.end(), below_.begin());
  };
  // A count that does not fit into a byte begins anew, and the sum of all counts falls short.
  is_narrow_ = sample.codes.size() <= all_codes;
  if (is_narrow_) {
    count_into(narrow_counts_);
    is_narrow_ = below_[coarse_cells] == sample.codes.size();
  }
  if (!is_narrow_) count_into(counts_);

  const double width = sample.step * static_cast<double>(codes_in_coarse_cell);
  slack_ = straight_error(1.0 / NormalTable::density) + straight_error(width) + 1e-8;  // Phi(-6), and rounding
  normal_.resize(coarse_cells + 1);
  const NormalTable& normal_nearby = normal_table();
  for (std::size_t coarse = 1; coarse < coarse_cells; ++coarse) {
    normal_[coarse] = normal_nearby(sample.first_edge + width * static_cast<double>(coarse));
  }
  normal_[0] = 0.0;
  normal_[coarse_cells] = 1.0;
}

// The distance at the edges of coarse cells, which the largest one cannot fall short of.
double KolmogorovCells::least_distance() const {
  double largest = 0.0;
  for (std::size_t i = 1; i < coarse_cells; ++i) largest = std::max(largest, std::abs(below_[i] * share_ - normal_[i]));
  return largest - slack_;
}

void KolmogorovCells::find_candidates() {
  double least = least_distance();
  candidates_.clear();
  for (std::size_t i = 0; i < coarse_cells; ++i) {
    const double largest = std::max(below_[i + 1] * share_ - normal_[i], normal_[i + 1] - below_[i] * share_) + slack_;
    if (largest < least || below_[i] == below_[i + 1]) continue;
    if (is_narrow_) {
      add_candidates(narrow_counts_, i, least);
    } else {
      add_candidates(counts_, i, least);
    }
  }
  std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.largest() < least; });
}

// The cells inside of a coarse one; what is learnt at their edges raises `least`. They are looked at by themselves only
// where some of them together may hold the largest distance.
template <class Count>
void KolmogorovCells::add_candidates(const std::vector<Count>& counts, std::size_t coarse, double& least) {
  const std::size_t fine = counts.size() / coarse_cells;
  const std::size_t together = std::min<std::size_t>(fine, 8);
  const double from = normal_[coarse];
  const double to = normal_[coarse + 1];
  const bool is_straight = coarse > 0 && coarse + 1 < coarse_cells;  // the others have no end
  const double step = is_straight ? (to - from) / static_cast<double>(fine) : 0.0;
  const double width = is_straight ? step : to - from;
  std::uint32_t below = below_[coarse];
  for (std::size_t start = 0; start < fine; start += together) {
    const auto inside = std::span(counts).subspan(coarse * fine + start, together);
    const double lower_end = from + step * static_cast<double>(start);
    const double upper_end = lower_end + (is_straight ? step * static_cast<double>(together) : width);
    const std::uint32_t sum = sum_of(inside);
    if (is_straight) least = std::max(least, std::abs(below * share_ - lower_end) - slack_);
    if (std::max((below + sum) * share_ - lower_end, upper_end - below * share_) + slack_ < least) {
      below += sum;
      continue;
    }
    for (std::size_t i = 0; i < together; ++i) {
      const std::uint32_t count = inside[i];
      const double lower = lower_end + step * static_cast<double>(i);
      if (is_straight) least = std::max(least, std::abs(below * share_ - lower) - slack_);
      const double above_normal = (below + count) * share_ - lower + slack_;
      const double below_normal = lower + width - below * share_ + slack_;
      if (count > 0 && std::max(above_normal, below_normal) >= least) {
        candidates_.push_back(
            {static_cast<std::uint32_t>(coarse * fine + start + i), below, count, above_normal, below_normal});
      }
      below += count;
    }
  }
}

// The indices of all values in candidates. Where F_n lies above Phi and where it lies below are two places, mostly far
// from each other: each is searched for by itself.
void KolmogorovCells::collect(std::span<const std::uint16_t> codes) {
  struct Stretch {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t last = 0;
  };
  std::array<Stretch, 2> stretches;
  is_candidate_.resize(all_codes);
  for (const Candidate& candidate : candidates_) {
    is_candidate_[candidate.cell] = 1;
    Stretch& stretch = stretches[candidate.above_normal > candidate.below_normal ? 0 : 1];
    stretch.first = std::min(stretch.first, candidate.cell);
    stretch.last = std::max(stretch.last, candidate.cell);
  }
  auto& [one, other] = stretches;
  if (one.first <= other.last && other.first <= one.last) {
    one = {std::min(one.first, other.first), std::max(one.last, other.last)};
    other = {};
  }
  found_.clear();
  for (const Stretch& stretch : stretches) {
    if (stretch.first <= stretch.last) add_found(codes, stretch.first, stretch.last);
  }
  for (const Candidate& candidate : candidates_) is_candidate_[candidate.cell] = 0;
}

void KolmogorovCells::add_found(std::span<const std::uint16_t> codes, std::uint32_t first, std::uint32_t last) {
  stretch_.resize(std::max(stretch_.size(), codes.size()));
  const std::size_t count = find_codes(codes, static_cast<std::uint16_t>(first << bits_),
                                       static_cast<std::uint16_t>(((last + 1) << bits_) - 1), stretch_.data());
  for (const std::uint32_t index : std::span(stretch_).first(count)) {
    if (is_candidate_[codes[index] >> bits_] != 0) found_.push_back(index);
  }
}

// Cells are in the order of their values, so that the sorted values of all candidates fall to them one after the other.
double KolmogorovCells::largest_at_values() const {
  double largest = 0.0;
  const auto visit = [&](const Candidate& candidate, std::size_t start) {
    double below = candidate.below;
    for (std::size_t i = 0; i < candidate.count; ++i, below += 1.0) {
      const double expected = normal_cdf(values_[start + i]);
      largest = std::max({largest, expected - below / n_, (below + 1.0) / n_ - expected});
    }
  };
  // The most promising one first: few of the others are left to look at after it.
  const auto best = std::ranges::max_element(candidates_, {}, &Candidate::largest);
  std::size_t start = 0;
  for (auto candidate = candidates_.begin(); candidate != best; ++candidate) start += candidate->count;
  visit(*best, start);
  start = 0;
  for (const Candidate& candidate : candidates_) {
    if (candidate.largest() > largest) visit(candidate, start);
    start += candidate.count;
  }
  return largest;
}

}  // namespace attention_plasticity
