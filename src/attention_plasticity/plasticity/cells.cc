#include "attention_plasticity/plasticity/cells.h"

#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/widen.h"
#include "attention_plasticity/plasticity/grouped_queries.h"
#include "attention_plasticity/plasticity/key_buckets.h"
#include "attention_plasticity/plasticity/key_difference_kernel.h"
#include "attention_plasticity/plasticity/key_pairs.h"
#include "attention_plasticity/plasticity/query_model.h"
#include "attention_plasticity/stats/mean.h"

namespace attention_plasticity {
namespace {

// The head's mean over its non-empty cells.
class CellMean {
 public:
  explicit CellMean(Weighting weighting) : weighting_(weighting) {}

  void add(const Mean& cell, std::size_t queries) {
    if (cell.count == 0) return;
    double weight = 1;
    if (weighting_ == Weighting::queries) weight = static_cast<double>(queries);
    if (weighting_ == Weighting::pairs) weight = static_cast<double>(cell.count);
    sum_ += weight * cell.value();
    total_ += weight;
  }
  double value() const { return total_ > 0 ? sum_ / total_ : std::numeric_limits<double>::quiet_NaN(); }

 private:
  Weighting weighting_;
  double sum_ = 0;
  double total_ = 0;
};

using QueryBuckets = std::map<std::int64_t, std::vector<std::size_t>>;

QueryBuckets rows_by_bucket(std::span<const std::int64_t> bucket) {
  QueryBuckets rows;
  // Consecutive rows are mostly of one bucket, which is then not looked up again.
  std::vector<std::size_t>* of_last = nullptr;
  for (std::size_t i = 0; i < bucket.size(); ++i) {
    if (i == 0 || bucket[i] != bucket[i - 1]) of_last = &rows[bucket[i]];
    of_last->push_back(i);
  }
  return rows;
}

using PairSampler = std::variant<BucketPairSampler, LocalPairSampler>;

PairSampler make_sampler(const RowsView& queries, const RowsView& keys, const KeyBuckets& buckets,
                         const PooledSettings& settings) {
  if (settings.sampler == Sampler::bucket) return BucketPairSampler(keys, buckets);
  return LocalPairSampler(queries, keys, buckets, settings.max_relative_distance);
}

class Measurement {
 public:
  Measurement(const RowsView& queries, const RowsView& keys, const PositionFrame& frame, const LineFit& lines,
              const PooledSettings& settings, const JackknifeGroups& groups, NumpyGenerator& generator)
      : queries_(queries),
        keys_(keys),
        frame_(frame),
        settings_(settings),
        groups_(groups),
        generator_(generator),
        captured_([queries](std::size_t row, std::span<double> out) { widen(queries.row(row), out); }),
        lines_(settings.method, lines, frame,
               groups.count > 0 ? split_rows(queries.size(), groups.of_query, groups.count) : GroupedRows(),
               queries.position, captured_),
        key_buckets_(group_by_bucket(keys)),
        sampler_(make_sampler(queries, keys, key_buckets_, settings)),
        overall_(settings.weighting),
        without_(groups.count, CellMean(settings.weighting)) {}

  MeasuredPlasticity run() {
    const QueryBuckets by_bucket = rows_by_bucket(queries_.bucket);
    reserve_cells(by_bucket);
    for (const auto& [bucket, rows] : by_bucket) {
      if (has_cells(bucket, rows)) add_query_bucket(bucket, rows);
    }
    head_.overall = overall_.value();
    for (const CellMean& mean : without_) head_.without_group.push_back(mean.value());
    return std::move(head_);
  }

 private:
  bool has_cells(std::int64_t query_bucket, std::span<const std::size_t> rows) const {
    return query_bucket > 0 && rows.size() >= fewest_queries(settings_.method);
  }

  // All memory that grows as the square of the number of buckets is taken before the work begins.
  void reserve_cells(const QueryBuckets& by_bucket) {
    std::size_t cells = 0;
    std::size_t times = 0;
    std::size_t earlier = 0;  // key buckets before the query bucket
    auto key_bucket = key_buckets_.begin();
    for (const auto& [bucket, rows] : by_bucket) {
      for (; key_bucket != key_buckets_.end() && key_bucket->first < bucket; ++key_bucket) ++earlier;
      if (!has_cells(bucket, rows)) continue;
      ++times;
      cells += queries_.window ? visible(bucket, positions(rows).mean()).size() : earlier;
    }
    require_memory(by_bucket.size(), cells, cells * sizeof(Cell) + times * (sizeof(PooledTime) + sizeof(TimePoint)));
    head_.cells.reserve(cells);
    head_.times.reserve(times);
  }

  // Throws when cells and times of `bytes` do not fit.
  void require_memory(std::size_t query_buckets, std::size_t cells, std::uint64_t bytes) const {
    if (!settings_.limit || bytes <= settings_.limit->bytes) return;
    const std::uint64_t beside = settings_.limit->memory_limit - settings_.limit->bytes;
    throw over_memory_limit(beside + bytes, settings_.limit->memory_limit,
                            counted_text(query_buckets, "bucket") + " of queries and " +
                                counted_text(key_buckets_.size(), "bucket") + " of keys make " +
                                counted_text(cells, "cell"));
  }

  GroupedPositions positions(std::span<const std::size_t> rows) const {
    return {queries_.position, split_rows(rows, groups_.of_query, groups_.count), lines_[{}].origin};
  }

  std::vector<std::int64_t> visible(std::int64_t query_bucket, double mean_position) const {
    return visible_key_buckets(key_buckets_, query_bucket, mean_position, queries_.window, settings_.window_unit);
  }

  void add_query_bucket(std::int64_t query_bucket, std::span<const std::size_t> rows) {
    const QueryModel model(settings_.method, frame_, lines_, split_rows(rows, groups_.of_query, groups_.count),
                           queries_.position, captured_);
    const double position = model.positions().mean();
    Mean at_time;
    for (const std::int64_t key_bucket : visible(query_bucket, position)) {
      throw_if_stopped();
      const Mean cell = measure_cell(model, draw_pairs(key_bucket));
      head_.cells.push_back({query_bucket, key_bucket, cell.value(), cell.count});
      overall_.add(cell, rows.size());
      at_time.sum += cell.sum;
      at_time.count += cell.count;
    }
    head_.times.push_back({query_bucket, position, at_time.value(), at_time.count, rows.size()});
  }

  std::vector<KeyPair> draw_pairs(std::int64_t key_bucket) {
    return std::visit([&](const auto& sampler) { return sampler.draw(key_bucket, settings_.num_pairs, generator_); },
                      sampler_);
  }

  // The cell's mean; the cell is also added to the mean without each group.
  Mean measure_cell(const QueryModel& model, std::span<const KeyPair> pairs) {
    if (differences_.rows() != pairs.size()) differences_ = Matrix(pairs.size(), keys_.width);
    write_differences(keys_, pairs, differences_);
    const QueryModel::Pairs modelled = model.pairs(differences_);
    for (std::size_t g = 0; g < groups_.count; ++g) {
      const std::size_t left = model.positions().count(g);
      if (left < fewest_queries(settings_.method)) continue;
      without_[g].add(
          mean_over(modelled.plasticity(g), [&](std::size_t pair) { return groups_.of_key[pairs[pair].first] != g; }),
          left);
    }
    return mean_over(modelled.plasticity(), [](std::size_t) { return true; });
  }

  // NaN stands for a pair that the method drops.
  template <class Counts>
  static Mean mean_over(std::span<const double> values, const Counts& counts) {
    Mean mean;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (counts(i) && !std::isnan(values[i])) mean.add(values[i]);
    }
    return mean;
  }

  RowsView queries_;
  RowsView keys_;
  const PositionFrame& frame_;
  const PooledSettings& settings_;
  const JackknifeGroups& groups_;
  NumpyGenerator& generator_;
  QueryRow captured_;
  GroupedLines lines_;
  KeyBuckets key_buckets_;
  PairSampler sampler_;
  Matrix differences_;  // of the cell that is being measured

  MeasuredPlasticity head_;
  CellMean overall_;
  std::vector<CellMean> without_;
};

}  // namespace

MeasuredPlasticity measure_plasticity(const RowsView& queries, const RowsView& keys, const PositionFrame& frame,
                                      const LineFit& lines, const PooledSettings& settings,
                                      const JackknifeGroups& groups, NumpyGenerator generator) {
  return Measurement(queries, keys, frame, lines, settings, groups, generator).run();
}

}  // namespace attention_plasticity
