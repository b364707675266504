#include "attention_plasticity/analysis/example_groups.h"

#include <algorithm>
#include <iterator>

namespace attention_plasticity {
namespace {

constexpr std::size_t most_groups = 20;
constexpr std::size_t fewest_groups = 3;

}  // namespace

std::vector<std::uint64_t> distinct_examples(std::span<const std::uint64_t> queries,
                                             std::span<const std::uint64_t> keys) {
  std::vector<std::uint64_t> ids;
  // Tokens of an example mostly stand together: few are left to sort.
  std::ranges::unique_copy(queries, std::back_inserter(ids));
  std::ranges::unique_copy(keys, std::back_inserter(ids));
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

ExampleGroups::ExampleGroups(std::span<const std::uint64_t> examples) : examples_(examples.begin(), examples.end()) {
  const std::size_t groups = std::min(most_groups, examples.size());
  count_ = groups < fewest_groups ? 0 : groups;
}

CountedVector<std::size_t> ExampleGroups::of(std::span<const std::uint64_t> ids) const {
  CountedVector<std::size_t> groups;
  if (count_ == 0) return groups;
  groups.reserve(ids.size());
  for (const std::uint64_t id : ids) {
    const auto rank = static_cast<std::size_t>(std::ranges::lower_bound(examples_, id) - examples_.begin());
    groups.push_back(rank % count_);
  }
  return groups;
}

}  // namespace attention_plasticity
