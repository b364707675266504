#include "attention_plasticity/store/range_plan.h"

#include <algorithm>

namespace attention_plasticity {
namespace {

// Ascending, without empty ones; those that touch or overlap are one.
std::vector<ByteRange> united(std::span<const ByteRange> ranges) {
  std::vector<ByteRange> sorted;
  std::ranges::copy_if(ranges, std::back_inserter(sorted), [](const ByteRange& range) { return range.size() > 0; });
  std::ranges::sort(sorted, {}, &ByteRange::begin);
  std::vector<ByteRange> all;
  for (const ByteRange& range : sorted) {
    if (!all.empty() && range.begin <= all.back().end) {
      all.back().end = std::max(all.back().end, range.end);
    } else {
      all.push_back(range);
    }
  }
  return all;
}

}  // namespace

std::vector<ByteRange> planned_ranges(std::span<const ByteRange> needed, const RangeLimits& limits) {
  const std::vector<ByteRange> parts = united(needed);
  if (parts.empty()) return {};
  std::uint64_t bytes = 0;
  for (const ByteRange& part : parts) bytes += part.size();
  const auto most = static_cast<std::uint64_t>(static_cast<double>(bytes) * limits.most_bytes);

  struct Hole {
    std::uint64_t size;
    std::size_t after;  // the part before it
  };
  std::vector<Hole> holes;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) holes.push_back({parts[i + 1].begin - parts[i].end, i});
  std::ranges::stable_sort(holes, {}, &Hole::size);
  std::vector<bool> is_read(parts.size());
  std::size_t requests = parts.size();
  for (const Hole& hole : holes) {
    const bool is_wanted = hole.size <= limits.small_hole || requests > limits.most_requests;
    if (!is_wanted || bytes + hole.size > most) break;
    is_read[hole.after] = true;
    bytes += hole.size;
    --requests;
  }

  std::vector<ByteRange> plan{parts.front()};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (is_read[i - 1]) {
      plan.back().end = parts[i].end;
    } else {
      plan.push_back(parts[i]);
    }
  }
  return plan;
}

}  // namespace attention_plasticity
