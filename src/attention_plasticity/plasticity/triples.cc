#include "attention_plasticity/plasticity/triples.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace attention_plasticity {
namespace {

// The keys of one example.
struct ExampleKeys {
  std::vector<std::size_t> rows;    // in row order
  std::vector<double> position;     // of each row
  std::vector<double> by_position;  // `position`, sorted
  bool ascending = false;           // whether `position` is sorted already
};

// Which keys each query sees.
class Sight {
 public:
  Sight(const RowsView& queries, const RowsView& keys, WindowUnit unit) : queries_(queries), keys_(keys) {
    if (queries.window && unit == WindowUnit::tokens) window_ = *queries.window;
    if (queries.window && unit == WindowUnit::buckets) {
      buckets_back_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(*queries.window));
    }
    ExampleKeys* example = nullptr;
    for (std::size_t row = 0; row < keys.size(); ++row) {
      // Consecutive rows are mostly of one example, which is then not looked up again.
      if (row == 0 || keys.example[row] != keys.example[row - 1]) example = &examples_[keys.example[row]];
      example->rows.push_back(row);
      example->position.push_back(keys.position[row]);
    }
    for (auto& [id, of_example] : examples_) {
      of_example.by_position = of_example.position;
      of_example.ascending = std::ranges::is_sorted(of_example.position);
      if (!of_example.ascending) std::ranges::sort(of_example.by_position);
    }
  }

  // The queries that see two keys or more, in row order.
  std::vector<std::size_t> usable() const {
    std::vector<std::size_t> usable;
    const ExampleKeys* example = nullptr;
    for (std::size_t query = 0; query < queries_.size(); ++query) {
      if (query == 0 || queries_.example[query] != queries_.example[query - 1]) {
        const auto found = examples_.find(queries_.example[query]);
        example = found == examples_.end() ? nullptr : &found->second;
      }
      if (example != nullptr && sees_two(query, *example)) usable.push_back(query);
    }
    return usable;
  }

  // All keys of the query's example, which must have some.
  const ExampleKeys& keys_of(std::size_t query) const { return examples_.at(queries_.example[query]); }

  // Whether what a query sees depends on positions only, and not on buckets.
  bool is_by_position() const { return !buckets_back_; }

  // The half-open range of indices of `ascending` positions that the query sees.
  std::pair<std::size_t, std::size_t> seen(std::size_t query, std::span<const double> ascending) const {
    const double t = queries_.position[query];
    const auto end = std::ranges::upper_bound(ascending, t);
    const auto first = std::partition_point(ascending.begin(), end, [&](double p) { return t - p >= window_; });
    return {static_cast<std::size_t>(first - ascending.begin()), static_cast<std::size_t>(end - ascending.begin())};
  }

  bool sees(std::size_t query, std::size_t key) const {
    const double distance = queries_.position[query] - keys_.position[key];
    const bool in_window = !buckets_back_ || queries_.bucket[query] - keys_.bucket[key] <= *buckets_back_;
    return distance >= 0 && distance < window_ && in_window;
  }

 private:
  bool sees_two(std::size_t query, const ExampleKeys& example) const {
    const std::span<const double> position = example.by_position;
    if (position.size() < 2 || position[1] > queries_.position[query]) return false;
    if (is_by_position() && window_ == std::numeric_limits<double>::infinity()) return true;
    const auto [first, end] = seen(query, position);
    if (end - first < 2 || is_by_position()) return end - first >= 2;
    std::size_t count = 0;
    return std::ranges::any_of(example.rows, [&](std::size_t key) { return sees(query, key) && ++count == 2; });
  }

  RowsView queries_;
  RowsView keys_;
  double window_ = std::numeric_limits<double>::infinity();
  std::optional<std::int64_t> buckets_back_;
  std::unordered_map<std::uint64_t, ExampleKeys> examples_;
};

// Draws one of the keys that a query sees, with weight 1/(1 + distance), by cumulative sums of the weights. The sums
// are taken from left to right, since their rounding decides which key a random number selects. A key that is not seen
// has weight 0 and changes no sum.
class NearKeys {
 public:
  void set(const Sight& sight, std::size_t query, double query_position) {
    const ExampleKeys& example = sight.keys_of(query);
    rows_ = example.rows;
    std::span<const double> position = example.position;
    const bool together = example.ascending && sight.is_by_position();
    if (together) {
      const auto [first, end] = sight.seen(query, position);
      rows_ = rows_.subspan(first, end - first);
      position = position.subspan(first, end - first);
    }
    weight_.resize(position.size());
    for (std::size_t i = 0; i < position.size(); ++i) weight_[i] = 1.0 / (1.0 + (query_position - position[i]));
    for (std::size_t i = 0; i < position.size() && !together; ++i) {
      if (!sight.sees(query, rows_[i])) weight_[i] = 0;
    }
    last_ = weight_.size() - 1;
    while (weight_[last_] == 0) --last_;
    sum_.resize(weight_.size());
    add_from(0);
  }

  std::size_t draw(NumpyGenerator& generator) const {
    const auto drawn = std::ranges::upper_bound(sum_, generator.random() * sum_.back());
    return std::min(static_cast<std::size_t>(drawn - sum_.begin()), last_);
  }

  void exclude(std::size_t index) {
    weight_[index] = 0;
    add_from(index);
  }

  std::size_t row(std::size_t index) const { return rows_[index]; }

 private:
  void add_from(std::size_t index) {
    double sum = index > 0 ? sum_[index - 1] : 0.0;
    for (; index < weight_.size(); ++index) sum_[index] = sum += weight_[index];
  }

  std::span<const std::size_t> rows_;
  std::vector<double> weight_;
  std::vector<double> sum_;
  std::size_t last_ = 0;  // index of the last key that is seen
};

}  // namespace

std::vector<Triple> draw_triples(const RowsView& queries, const RowsView& keys, WindowUnit window_unit,
                                 std::size_t count, NumpyGenerator& generator) {
  const Sight sight(queries, keys, window_unit);
  const std::vector<std::size_t> usable = sight.usable();
  std::vector<Triple> triples;
  if (usable.empty()) return triples;
  triples.reserve(count);
  NearKeys near;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t query = usable[generator.integers(usable.size())];
    near.set(sight, query, queries.position[query]);
    const std::size_t first = near.draw(generator);
    near.exclude(first);
    triples.push_back({query, near.row(first), near.row(near.draw(generator))});
  }
  return triples;
}

}  // namespace attention_plasticity
