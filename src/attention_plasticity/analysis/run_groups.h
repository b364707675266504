#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention_plasticity/plasticity/jackknife_groups.h"

namespace attention_plasticity {

/// The distinct ids of both lists, ascending.
std::vector<std::uint64_t> distinct_examples(std::span<const std::uint64_t> queries,
                                             std::span<const std::uint64_t> keys);

/// Consecutive ids of documents.
struct DocumentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  ///< included

  friend bool operator==(const DocumentRange&, const DocumentRange&) = default;
};

/// The ranges of distinct, ascending ids.
std::vector<DocumentRange> ranges_of(std::span<const std::uint64_t> ids);

/// The jackknife groups of one head: `rows` numbers the groups that the head has from 0 on.
struct HeadGroups {
  JackknifeGroups rows;
  std::vector<std::size_t> numbers;  ///< the group of the run that each of them is, ascending
};

/// The jackknife groups of a run, decided once by its reference documents: with G = min(20, number of reference
/// documents), the reference document of rank r is in group r mod G, and any other document in group id mod G. Fewer
/// than 3 reference documents make no groups.
class RunGroups {
 public:
  RunGroups() = default;
  /// `reference` must be disjoint and ascending.
  explicit RunGroups(std::vector<DocumentRange> reference);

  /// G.
  std::size_t count() const { return count_; }
  const std::vector<DocumentRange>& reference() const { return reference_; }
  /// The group of a document. There must be groups.
  std::size_t group_of(std::uint64_t document) const;
  /// Groups the rows of a head by their documents. A head with fewer than 3 groups has none.
  HeadGroups of_head(std::span<const std::uint64_t> queries, std::span<const std::uint64_t> keys) const;

 private:
  std::vector<DocumentRange> reference_;
  std::vector<std::uint64_t> rank_;  // of the first document of each range
  std::size_t count_ = 0;
};

}  // namespace attention_plasticity
