#include "attention_plasticity/analysis/run_groups.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

namespace attention_plasticity {
namespace {

constexpr std::size_t most_groups = 20;
constexpr std::size_t fewest_groups = 3;

std::vector<std::size_t> groups_of_rows(const RunGroups& groups, std::span<const std::uint64_t> documents) {
  std::vector<std::size_t> of_rows;
  of_rows.reserve(documents.size());
  // Rows of a document mostly stand together.
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const bool is_as_before = i > 0 && documents[i] == documents[i - 1];
    of_rows.push_back(is_as_before ? of_rows.back() : groups.group_of(documents[i]));
  }
  return of_rows;
}

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

std::vector<DocumentRange> ranges_of(std::span<const std::uint64_t> ids) {
  std::vector<DocumentRange> ranges;
  for (const std::uint64_t id : ids) {
    if (!ranges.empty() && ranges.back().last + 1 == id) {
      ranges.back().last = id;
    } else {
      ranges.push_back({id, id});
    }
  }
  return ranges;
}

RunGroups::RunGroups(std::vector<DocumentRange> reference) : reference_(std::move(reference)) {
  std::uint64_t documents = 0;
  for (const DocumentRange& range : reference_) {
    rank_.push_back(documents);
    documents += range.last - range.first + 1;
  }
  const auto groups = static_cast<std::size_t>(std::min<std::uint64_t>(most_groups, documents));
  count_ = groups < fewest_groups ? 0 : groups;
}

std::size_t RunGroups::group_of(std::uint64_t document) const {
  const auto after = std::ranges::upper_bound(reference_, document, {}, &DocumentRange::first);
  if (after == reference_.begin() || document > std::prev(after)->last) return document % count_;
  const auto range = static_cast<std::size_t>(std::prev(after) - reference_.begin());
  return (rank_[range] + document - reference_[range].first) % count_;
}

HeadGroups RunGroups::of_head(std::span<const std::uint64_t> queries, std::span<const std::uint64_t> keys) const {
  if (count_ == 0) return {};
  HeadGroups head;
  head.rows.of_query = groups_of_rows(*this, queries);
  head.rows.of_key = groups_of_rows(*this, keys);
  std::array<bool, most_groups> has_group{};
  for (const auto* rows : {&head.rows.of_query, &head.rows.of_key}) {
    for (const std::size_t group : *rows) has_group[group] = true;
  }
  std::array<std::size_t, most_groups> place{};
  for (std::size_t group = 0; group < count_; ++group) {
    if (!has_group[group]) continue;
    place[group] = head.numbers.size();
    head.numbers.push_back(group);
  }
  if (head.numbers.size() < fewest_groups) return {};
  head.rows.count = head.numbers.size();
  if (head.rows.count == count_) return head;
  for (auto* rows : {&head.rows.of_query, &head.rows.of_key}) {
    for (std::size_t& group : *rows) group = place[group];
  }
  return head;
}

}  // namespace attention_plasticity
