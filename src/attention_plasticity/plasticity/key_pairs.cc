#include "attention_plasticity/plasticity/key_pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <vector>

namespace attention_plasticity {

BucketPairSampler::BucketPairSampler(const RowsView& keys, const KeyBuckets& buckets) {
  for (const auto& [bucket, of_bucket] : buckets) {
    std::vector<std::vector<std::size_t>> by_example;
    std::unordered_map<std::uint64_t, std::size_t> place;
    std::vector<std::size_t>* rows_of_last = nullptr;
    std::uint64_t last = 0;
    for (const std::size_t row : of_bucket.rows) {
      // Consecutive keys are mostly of one example, which is then not looked up again.
      if (rows_of_last == nullptr || keys.example[row] != last) {
        last = keys.example[row];
        const auto [at, is_new] = place.try_emplace(last, by_example.size());
        if (is_new) by_example.emplace_back();
        rows_of_last = &by_example[at->second];
      }
      rows_of_last->push_back(row);
    }
    PairedExamples examples;
    for (const auto& rows : by_example) {
      if (rows.size() >= 2) examples.add(rows);
    }
    examples.index();
    by_bucket_.emplace(bucket, std::move(examples));
  }
}

void BucketPairSampler::PairedExamples::add(std::span<const std::size_t> rows) {
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  rows_up_to_.push_back(rows_.size());
  pairs_up_to_.push_back(pairs() + std::uint64_t{rows.size()} * (rows.size() - 1) / 2);
}

// About four entries for each example, so that a search takes few steps.
void BucketPairSampler::PairedExamples::index() {
  while (pairs() >> shift_ > 4 * pairs_up_to_.size()) ++shift_;
  std::size_t example = 0;
  for (std::uint64_t pair = 0; pair < pairs(); pair += std::uint64_t{1} << shift_) {
    while (pairs_up_to_[example] <= pair) ++example;
    example_.push_back(example);
  }
}

std::span<const std::size_t> BucketPairSampler::PairedExamples::rows_of_pair(std::uint64_t pair) const {
  std::size_t example = example_[static_cast<std::size_t>(pair >> shift_)];
  while (pairs_up_to_[example] <= pair) ++example;
  return std::span(rows_).subspan(rows_up_to_[example], rows_up_to_[example + 1] - rows_up_to_[example]);
}

std::vector<KeyPair> BucketPairSampler::draw(std::int64_t bucket, std::size_t most, NumpyGenerator& generator) const {
  const auto found = by_bucket_.find(bucket);
  if (found == by_bucket_.end() || found->second.pairs() == 0) return {};
  const PairedExamples& examples = found->second;
  const std::uint64_t total = examples.pairs();
  std::vector<KeyPair> pairs(static_cast<std::size_t>(std::min<std::uint64_t>(most, total)));
  for (KeyPair& pair : pairs) {
    const std::span<const std::size_t> rows = examples.rows_of_pair(generator.integers(total));
    const auto [first, second] = generator.choose_two(rows.size());
    pair = {rows[first], rows[second]};
  }
  return pairs;
}

LocalPairSampler::LocalPairSampler(const RowsView& queries, const RowsView& keys, const KeyBuckets& buckets,
                                   double max_relative_distance)
    : keys_(keys) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Example& example = examples_[keys.example[i]];
    example.rows.push_back(i);
    example.reach = std::max(example.reach, keys.position[i]);
  }
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const auto found = examples_.find(queries.example[i]);
    if (found != examples_.end()) found->second.reach = std::max(found->second.reach, queries.position[i]);
  }
  for (auto& [id, example] : examples_) {
    const double length = example.reach + 1.0;
    example.reach = std::max(1.0, std::floor(max_relative_distance * length));
    std::ranges::stable_sort(example.rows, {}, [&](std::size_t row) { return keys.position[row]; });
  }
  for (const auto& [bucket, of_bucket] : buckets) {
    auto& anchors = anchors_[bucket];
    std::ranges::copy_if(of_bucket.rows, std::back_inserter(anchors),
                         [&](std::size_t row) { return !neighbours(row).empty(); });
  }
}

std::vector<std::size_t> LocalPairSampler::neighbours(std::size_t anchor) const {
  const Example& example = examples_.at(keys_.example[anchor]);
  const double at = keys_.position[anchor];
  const auto position = [&](std::size_t row) { return keys_.position[row]; };
  std::vector<std::size_t> near;
  // Both comparisons are written as in the definition, |position - at| <= reach, since `at - reach` would round.
  auto row =
      std::ranges::partition_point(example.rows, [&](std::size_t r) { return at - position(r) > example.reach; });
  for (; row != example.rows.end() && position(*row) - at <= example.reach; ++row) {
    if (*row != anchor && keys_.bucket[*row] <= keys_.bucket[anchor]) near.push_back(*row);
  }
  return near;
}

std::vector<KeyPair> LocalPairSampler::draw(std::int64_t bucket, std::size_t count, NumpyGenerator& generator) const {
  const auto found = anchors_.find(bucket);
  if (found == anchors_.end() || found->second.empty()) return {};
  const auto& anchors = found->second;
  std::vector<KeyPair> pairs(count);
  for (KeyPair& pair : pairs) {
    const std::size_t anchor = anchors[generator.integers(anchors.size())];
    const std::vector<std::size_t> near = neighbours(anchor);
    const std::size_t neighbour = near[generator.integers(near.size())];
    pair = generator.random() < 0.5 ? KeyPair{anchor, neighbour} : KeyPair{neighbour, anchor};
  }
  return pairs;
}

}  // namespace attention_plasticity
