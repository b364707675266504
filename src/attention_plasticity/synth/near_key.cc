#include "attention_plasticity/synth/near_key.h"

#include <algorithm>
#include <vector>

namespace attention_plasticity {
namespace {

// The keys [begin, end) of distances 2^octave - 1 to 2^(octave + 1) - 2. Each weighs at most 2^-octave, and more than
// half of that.
struct Octave {
  std::size_t begin;
  std::size_t end;
  std::size_t count;  // without the excluded key
  double most;        // 2^-octave
};

std::vector<Octave> octaves_of(std::span<const std::uint64_t> positions, std::uint64_t query,
                               std::optional<std::size_t> except) {
  std::vector<Octave> octaves;
  std::size_t end = positions.size();
  double most = 1;
  for (std::uint64_t size = 1; end > 0; size *= 2, most /= 2) {
    const std::uint64_t farthest = 2 * size - 2;
    const std::uint64_t first = query > farthest ? query - farthest : 0;
    const auto begin = static_cast<std::size_t>(std::ranges::lower_bound(positions, first) - positions.begin());
    const bool excludes = except && *except >= begin && *except < end;
    const std::size_t count = end - begin - (excludes ? 1 : 0);
    if (count > 0) octaves.push_back({begin, end, count, most});
    end = begin;
  }
  return octaves;
}

}  // namespace

std::size_t draw_near_key(std::span<const std::uint64_t> positions, std::uint64_t query,
                          std::optional<std::size_t> except, NumpyGenerator& generator) {
  const std::vector<Octave> octaves = octaves_of(positions, query, except);
  double total = 0;
  for (const Octave& octave : octaves) total += static_cast<double>(octave.count) * octave.most;
  // Rejection: a key of the octave's largest weight is always accepted, others in proportion to their weight.
  while (true) {
    double left = generator.random() * total;
    std::size_t chosen = 0;
    while (chosen + 1 < octaves.size()) {
      left -= static_cast<double>(octaves[chosen].count) * octaves[chosen].most;
      if (left < 0) break;
      ++chosen;
    }
    const Octave& octave = octaves[chosen];
    std::size_t key = octave.begin + generator.integers(octave.count);
    if (except && *except >= octave.begin && key >= *except && *except < octave.end) ++key;
    const double weight = 1 / (1 + static_cast<double>(query - positions[key]));
    if (generator.random() * octave.most < weight) return key;
  }
}

}  // namespace attention_plasticity
