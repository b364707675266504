#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention_plasticity/base/counted_containers.h"

namespace attention_plasticity {

/// The distinct ids of both lists, ascending.
std::vector<std::uint64_t> distinct_examples(std::span<const std::uint64_t> queries,
                                             std::span<const std::uint64_t> keys);

/// The jackknife's groups: with G = min(20, number of examples), the example of rank r is in group r mod G. Fewer than
/// 3 examples: no groups.
class ExampleGroups {
 public:
  ExampleGroups() = default;
  /// `examples` must be distinct and ascending.
  explicit ExampleGroups(std::span<const std::uint64_t> examples);

  std::size_t count() const { return count_; }
  /// The group of each id; every id must be one of the examples. Empty when there are no groups.
  CountedVector<std::size_t> of(std::span<const std::uint64_t> ids) const;

 private:
  std::vector<std::uint64_t> examples_;
  std::size_t count_ = 0;
};

}  // namespace attention_plasticity
