#include "attention_plasticity/plasticity/triples.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <unordered_map>

namespace attention_plasticity {
namespace {

// The keys of one example.
struct ExampleKeys {
  std::vector<std::size_t> rows;    // in row order
  std::vector<double> by_position;  // their positions, ascending
};

// Which keys each query sees.
class Sight {
 public:
  Sight(const HeadRows& queries, const HeadRows& keys, WindowUnit unit) : queries_(queries), keys_(keys) {
    if (queries.window && unit == WindowUnit::tokens) window_ = *queries.window;
    if (queries.window && unit == WindowUnit::buckets) {
      buckets_back_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(*queries.window));
    }
    for (std::size_t row = 0; row < keys.size(); ++row) {
      ExampleKeys& example = examples_[keys.example[row]];
      example.rows.push_back(row);
      example.by_position.push_back(keys.position[row]);
    }
    for (auto& [id, example] : examples_) std::ranges::sort(example.by_position);
  }

  bool sees_two(std::size_t query) const {
    const auto found = examples_.find(queries_.example[query]);
    if (found == examples_.end()) return false;
    const ExampleKeys& example = found->second;
    const double t = queries_.position[query];
    const auto first = std::ranges::partition_point(example.by_position, [&](double p) { return t - p >= window_; });
    const auto end = std::ranges::upper_bound(first, example.by_position.end(), t);
    if (end - first < 2 || !buckets_back_) return end - first >= 2;
    std::size_t seen = 0;  // positions do not tell buckets
    return std::ranges::any_of(example.rows, [&](std::size_t key) { return sees(query, key) && ++seen == 2; });
  }

  // In row order; the query must see some.
  void collect(std::size_t query, std::vector<std::size_t>& seen) const {
    seen.clear();
    std::ranges::copy_if(examples_.at(queries_.example[query]).rows, std::back_inserter(seen),
                         [&](std::size_t key) { return sees(query, key); });
  }

 private:
  bool sees(std::size_t query, std::size_t key) const {
    const double distance = queries_.position[query] - keys_.position[key];
    const bool in_window = !buckets_back_ || queries_.bucket[query] - keys_.bucket[key] <= *buckets_back_;
    return distance >= 0 && distance < window_ && in_window;
  }

  const HeadRows& queries_;
  const HeadRows& keys_;
  double window_ = std::numeric_limits<double>::infinity();
  std::optional<std::int64_t> buckets_back_;
  std::unordered_map<std::uint64_t, ExampleKeys> examples_;
};

// Draws keys near a query more often than those far away, by running sums of their weights. The sums are taken from
// the left, key after key: that order is part of which key a random number means.
class NearKeys {
 public:
  void set(std::span<const std::size_t> keys, const HeadRows& key_rows, double query_position) {
    weight_.clear();
    for (const std::size_t key : keys) weight_.push_back(1.0 / (1.0 + (query_position - key_rows.position[key])));
    sum_.resize(weight_.size());
    add_from(0);
  }

  std::size_t draw(NumpyGenerator& generator) const {
    const auto drawn = std::ranges::upper_bound(sum_, generator.random() * sum_.back());
    return std::min(static_cast<std::size_t>(drawn - sum_.begin()), sum_.size() - 1);
  }

  void exclude(std::size_t index) {
    weight_[index] = 0;
    add_from(index);
  }

 private:
  void add_from(std::size_t index) {
    double sum = index > 0 ? sum_[index - 1] : 0.0;
    for (; index < weight_.size(); ++index) sum_[index] = sum += weight_[index];
  }

  std::vector<double> weight_;
  std::vector<double> sum_;
};

}  // namespace

std::vector<Triple> draw_triples(const HeadRows& queries, const HeadRows& keys, WindowUnit window_unit,
                                 std::size_t count, NumpyGenerator& generator) {
  const Sight sight(queries, keys, window_unit);
  std::vector<std::size_t> usable;
  for (std::size_t query = 0; query < queries.size(); ++query) {
    if (sight.sees_two(query)) usable.push_back(query);
  }
  std::vector<Triple> triples;
  if (usable.empty()) return triples;
  triples.reserve(count);
  std::vector<std::size_t> seen;
  NearKeys near;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t query = usable[generator.integers(usable.size())];
    sight.collect(query, seen);
    near.set(seen, keys, queries.position[query]);
    const std::size_t first = near.draw(generator);
    near.exclude(first);
    triples.push_back({query, seen[first], seen[near.draw(generator)]});
  }
  return triples;
}

}  // namespace attention_plasticity
