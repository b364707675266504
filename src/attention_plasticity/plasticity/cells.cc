#include "attention_plasticity/plasticity/cells.h"

#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <variant>

#include "attention_plasticity/base/matrix.h"
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

std::map<std::int64_t, std::vector<std::size_t>> rows_by_bucket(std::span<const std::int64_t> bucket) {
  std::map<std::int64_t, std::vector<std::size_t>> rows;
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
    for (const auto& [bucket, rows] : rows_by_bucket(queries_.bucket)) {
      if (bucket > 0 && rows.size() >= fewest_queries(settings_.method)) add_query_bucket(bucket, rows);
    }
    head_.overall = overall_.value();
    for (const CellMean& mean : without_) head_.without_group.push_back(mean.value());
    return std::move(head_);
  }

 private:
  void add_query_bucket(std::int64_t query_bucket, std::span<const std::size_t> rows) {
    const QueryModel model(settings_.method, frame_, lines_, split_rows(rows, groups_.of_query, groups_.count),
                           queries_.position, captured_);
    const double position = model.positions().mean();
    Mean at_time;
    for (const std::int64_t key_bucket :
         visible_key_buckets(key_buckets_, query_bucket, position, queries_.window, settings_.window_unit)) {
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
