#include "attention_plasticity/plasticity/key_pair_sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

std::int64_t total_length(std::span<const std::int64_t> lengths) {
  std::int64_t total = 0;
  for (const std::int64_t length : lengths) {
    if (length < 0) throw Error(ErrorKind::usage, "an example has the negative length " + std::to_string(length));
    if (length > std::numeric_limits<std::int64_t>::max() - total) {
      throw Error(ErrorKind::usage, "the lengths of the examples add up to 2^63 or more");
    }
    total += length;
  }
  return total;
}

// Lengths are divided by the total before they are summed, as in the reference: rounding decides which example a draw
// falls in.
std::vector<double> example_distribution(std::span<const std::int64_t> lengths) {
  const auto total = static_cast<double>(total_length(lengths));
  if (!std::ranges::any_of(lengths, [](std::int64_t length) { return length >= 2; })) {
    throw Error(ErrorKind::usage, "no example has the two keys that a pair needs");
  }
  std::vector<double> probabilities(lengths.size());
  std::ranges::transform(lengths, probabilities.begin(),
                         [total](std::int64_t length) { return static_cast<double>(length) / total; });
  return cumulative_distribution(probabilities);
}

// max(1, floor(max_relative_distance * length)), at most `length` so that it fits an integer.
std::int64_t reach(std::int64_t length, double max_relative_distance) {
  const double tokens = std::floor(max_relative_distance * static_cast<double>(length));
  if (tokens < 1) return 1;
  if (tokens >= static_cast<double>(length)) return length;
  return static_cast<std::int64_t>(tokens);
}

}  // namespace

std::vector<SampledKeyPair> sample_key_pairs(std::span<const std::int64_t> lengths, std::size_t num_pairs,
                                             double max_relative_distance, NumpyGenerator& generator) {
  if (!std::isfinite(max_relative_distance)) {
    throw Error(ErrorKind::usage, "max_relative_distance must be a finite number");
  }
  const std::vector<double> distribution = example_distribution(lengths);

  std::vector<SampledKeyPair> pairs;
  pairs.reserve(num_pairs);
  while (pairs.size() < num_pairs) {
    const std::size_t example = generator.choice_cumulative(distribution);
    const std::int64_t length = lengths[example];
    if (length < 2) continue;

    const auto anchor = static_cast<std::int64_t>(generator.integers(static_cast<std::uint64_t>(length)));
    const std::int64_t distance = reach(length, max_relative_distance);
    const std::int64_t left = anchor - std::min(anchor, distance);
    const std::int64_t right = anchor + std::min(length - 1 - anchor, distance);
    // right - left is the number of positions in the window without the anchor. Those from the anchor on shift by one.
    auto neighbour = left + static_cast<std::int64_t>(generator.integers(static_cast<std::uint64_t>(right - left)));
    if (neighbour >= anchor) ++neighbour;

    const bool in_order = generator.random() < 0.5;
    pairs.push_back(in_order ? SampledKeyPair{example, anchor, neighbour} : SampledKeyPair{example, neighbour, anchor});
  }
  return pairs;
}

}  // namespace attention_plasticity
