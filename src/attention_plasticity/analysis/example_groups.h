#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attention_plasticity {

/// The ids of both lists, ascending, each once.
std::vector<std::uint64_t> distinct_examples(std::span<const std::uint64_t> queries,
                                             std::span<const std::uint64_t> keys);

/// The jackknife's groups: example number r of G = min(20, examples) is in group r mod G. Fewer than 3 examples: none.
class ExampleGroups {
 public:
  ExampleGroups() = default;
  /// `examples` ascending, each once.
  explicit ExampleGroups(std::span<const std::uint64_t> examples);

  std::size_t count() const { return count_; }
  /// The group of each id; all of them must be among the examples. Empty when there are no groups.
  std::vector<std::size_t> of(std::span<const std::uint64_t> ids) const;

 private:
  std::vector<std::uint64_t> examples_;
  std::size_t count_ = 0;
};

}  // namespace attention_plasticity
