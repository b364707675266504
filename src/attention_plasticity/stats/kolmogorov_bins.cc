#include "attention_plasticity/stats/kolmogorov_bins.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "attention_plasticity/stats/find_codes.h"
#include "attention_plasticity/stats/normal.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t all_codes = std::size_t{1} << 16;
constexpr std::size_t coarse_bins = 1024;
constexpr std::size_t codes_in_coarse_bin = all_codes / coarse_bins;

// Phi is interpolated linearly between two entries of a table, and inside a coarse bin. Its second derivative is at
// most 0.242, which bounds the error.
constexpr double straight_error(double width) { return 0.242 / 8.0 * width * width; }

// Phi between -6 and 6; the value at the nearer end beyond.
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

// About as many bins as values: with m values in a bin, about 4 m² of them lie where the bounds leave the largest
// distance open.
unsigned bits_within_bin(std::size_t n) {
  const std::size_t bins = std::bit_ceil(std::clamp(n, coarse_bins, all_codes));
  return static_cast<unsigned>(std::countr_zero(all_codes / bins));
}

// Four codes are loaded at once: counting does little else but load and store.
void count_codes(std::span<const std::uint16_t> codes, unsigned bits, std::uint32_t* counts) {
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

std::uint32_t sum_of(std::span<const std::uint32_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint32_t{0});
}

}  // namespace

double KolmogorovBins::distance(const CodedSample& sample) {
  if (sample.codes.empty()) return 0.0;
  count(sample);
  find_candidates();
  collect(sample.codes);
  values_.resize(found_.size());
  sample.exact(found_, values_);
  std::ranges::sort(values_);
  return largest_at_values();
}

void KolmogorovBins::count(const CodedSample& sample) {
  n_ = static_cast<double>(sample.codes.size());
  share_ = 1.0 / n_;
  bits_ = bits_within_bin(sample.codes.size());
  counts_.assign(all_codes >> bits_, 0);
  count_codes(sample.codes, bits_, counts_.data());
  const std::size_t fine = counts_.size() / coarse_bins;
  below_.assign(coarse_bins + 1, 0);
  for (std::size_t i = 0; i < coarse_bins; ++i) {
    below_[i + 1] = below_[i] + sum_of(std::span(counts_).subspan(i * fine, fine));
  }

  const double width = sample.step * static_cast<double>(codes_in_coarse_bin);
  slack_ = straight_error(1.0 / NormalTable::density) + straight_error(width) + 1e-8;  // 1e-8: Phi(-6) and rounding
  normal_.resize(coarse_bins + 1);
  const NormalTable& normal_nearby = normal_table();
  for (std::size_t coarse = 1; coarse < coarse_bins; ++coarse) {
    normal_[coarse] = normal_nearby(sample.first_edge + width * static_cast<double>(coarse));
  }
  normal_[0] = 0.0;
  normal_[coarse_bins] = 1.0;
}

// The distance at the edges of coarse bins: a lower bound of the largest one.
double KolmogorovBins::least_distance() const {
  double largest = 0.0;
  for (std::size_t i = 1; i < coarse_bins; ++i) largest = std::max(largest, std::abs(below_[i] * share_ - normal_[i]));
  return largest - slack_;
}

void KolmogorovBins::find_candidates() {
  double least = least_distance();
  candidates_.clear();
  for (std::size_t i = 0; i < coarse_bins; ++i) {
    const double largest = std::max(below_[i + 1] * share_ - normal_[i], normal_[i + 1] - below_[i] * share_) + slack_;
    if (largest < least || below_[i] == below_[i + 1]) continue;
    add_candidates(i, least);
  }
  std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.largest() < least; });
}

// Adds the candidates inside a coarse bin, and raises `least` by the distances at their edges. Eight bins are looked at
// together first, and one by one only where the eight may hold the largest distance.
void KolmogorovBins::add_candidates(std::size_t coarse, double& least) {
  const std::size_t fine = counts_.size() / coarse_bins;
  const std::size_t together = std::min<std::size_t>(fine, 8);
  const double from = normal_[coarse];
  const double to = normal_[coarse + 1];
  const bool is_straight = coarse > 0 && coarse + 1 < coarse_bins;  // the first and the last bin have no outer edge
  const double step = is_straight ? (to - from) / static_cast<double>(fine) : 0.0;
  const double width = is_straight ? step : to - from;
  std::uint32_t below = below_[coarse];
  for (std::size_t start = 0; start < fine; start += together) {
    const auto inside = std::span(counts_).subspan(coarse * fine + start, together);
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

// Finds the indices of all values in candidates. F_n lies above Phi in one range of values and below it in another,
// mostly far away: each range is searched by itself.
void KolmogorovBins::collect(std::span<const std::uint16_t> codes) {
  struct Stretch {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t last = 0;
  };
  std::array<Stretch, 2> stretches;
  is_candidate_.resize(all_codes);
  for (const Candidate& candidate : candidates_) {
    is_candidate_[candidate.bin] = 1;
    Stretch& stretch = stretches[candidate.above_normal > candidate.below_normal ? 0 : 1];
    stretch.first = std::min(stretch.first, candidate.bin);
    stretch.last = std::max(stretch.last, candidate.bin);
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
  for (const Candidate& candidate : candidates_) is_candidate_[candidate.bin] = 0;
}

void KolmogorovBins::add_found(std::span<const std::uint16_t> codes, std::uint32_t first, std::uint32_t last) {
  stretch_.resize(std::max(stretch_.size(), codes.size()));
  const std::size_t count = find_codes(codes, static_cast<std::uint16_t>(first << bits_),
                                       static_cast<std::uint16_t>(((last + 1) << bits_) - 1), stretch_.data());
  for (const std::uint32_t index : std::span(stretch_).first(count)) {
    if (is_candidate_[codes[index] >> bits_] != 0) found_.push_back(index);
  }
}

// Candidates are in the order of their values, so the sorted values belong to them one after the other.
double KolmogorovBins::largest_at_values() const {
  double largest = 0.0;
  const auto visit = [&](const Candidate& candidate, std::size_t start) {
    double below = candidate.below;
    for (std::size_t i = 0; i < candidate.count; ++i, below += 1.0) {
      const double expected = normal_cdf(values_[start + i]);
      largest = std::max({largest, expected - below / n_, (below + 1.0) / n_ - expected});
    }
  };
  // The most promising candidate goes first: after it, few of the others can hold a larger distance.
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
