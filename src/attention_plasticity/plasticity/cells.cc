#include "attention_plasticity/plasticity/cells.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/plasticity/diagonal_model.h"
#include "attention_plasticity/plasticity/key_difference_kernel.h"
#include "attention_plasticity/plasticity/query_model.h"

namespace attention_plasticity {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct PairMean {
  double sum = 0;
  std::size_t count = 0;

  void add(double value) {
    if (std::isnan(value)) return;
    sum += value;
    ++count;
  }
  double value() const { return count > 0 ? sum / static_cast<double>(count) : nan; }
};

// The head's mean over its non-empty cells.
class CellMean {
 public:
  explicit CellMean(Weighting weighting) : weighting_(weighting) {}

  void add(const PairMean& cell, std::size_t queries) {
    if (cell.count == 0) return;
    double weight = 1;
    if (weighting_ == Weighting::queries) weight = static_cast<double>(queries);
    if (weighting_ == Weighting::pairs) weight = static_cast<double>(cell.count);
    sum_ += weight * cell.value();
    total_ += weight;
  }
  double value() const { return total_ > 0 ? sum_ / total_ : nan; }

 private:
  Weighting weighting_;
  double sum_ = 0;
  double total_ = 0;
};

std::map<std::int64_t, std::vector<std::size_t>> rows_by_bucket(std::span<const std::int64_t> bucket) {
  std::map<std::int64_t, std::vector<std::size_t>> rows;
  // Neighbours are mostly of one bucket.
  std::vector<std::size_t>* of_last = nullptr;
  for (std::size_t i = 0; i < bucket.size(); ++i) {
    if (i == 0 || bucket[i] != bucket[i - 1]) of_last = &rows[bucket[i]];
    of_last->push_back(i);
  }
  return rows;
}

// By jackknife group; all in one where there are none.
GroupedRows split(std::span<const std::size_t> rows, const PooledQueries& queries) {
  if (queries.groups == 0) return {{rows.begin(), rows.end()}};
  GroupedRows groups(queries.groups);
  for (const std::size_t row : rows) groups[queries.group[row]].push_back(row);
  return groups;
}

GroupedRows split_all(const PooledQueries& queries) {
  GroupedRows groups(queries.groups);
  for (std::size_t row = 0; row < queries.group.size(); ++row) groups[queries.group[row]].push_back(row);
  return groups;
}

PairMean mean_of(std::span<const double> values) {
  PairMean mean;
  for (const double value : values) mean.add(value);
  return mean;
}

// One query bucket: its model, and the cells that are drawn for it.
class BucketMeasurement {
 public:
  BucketMeasurement(const PooledQueries& queries, const std::vector<std::size_t>& rows, const HeadRows& keys,
                    Method method, const GroupedLines& lines)
      : keys_(keys),
        method_(method),
        model_(method, queries.frame, lines, split(rows, queries), queries.position, queries.captured) {
    if (method == Method::diagonal && queries.groups == 0) diagonal_.emplace(queries.frame, queries.lines, position());
  }

  double position() const { return model_.positions().mean(); }

  /// The cell's mean; the cell is also added to each mean without a group. `differences` is memory to work in.
  PairMean add(const CellPairs& cell, Matrix& differences, std::vector<CellMean>& without) const {
    if (diagonal_) return mean_of(diagonal_->plasticity(keys_, cell.pairs));
    if (differences.rows() != cell.pairs.size()) differences = Matrix(cell.pairs.size(), keys_.width);
    write_differences(keys_, cell.pairs, differences);
    const QueryModel::Pairs pairs = model_.pairs(differences);
    for (std::size_t g = 0; g < without.size(); ++g) {
      const std::size_t left = model_.positions().count(g);
      if (left >= fewest_queries(method_)) without[g].add(mean_without(g, cell.group, pairs), left);
    }
    return mean_of(pairs.plasticity());
  }

 private:
  static PairMean mean_without(std::size_t group, std::span<const std::size_t> group_of_pair,
                               const QueryModel::Pairs& pairs) {
    const std::vector<double> values = pairs.plasticity(group);
    PairMean mean;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (group_of_pair[i] != group) mean.add(values[i]);
    }
    return mean;
  }

  const HeadRows& keys_;
  Method method_;
  QueryModel model_;
  std::optional<DiagonalModel> diagonal_;  // in its place, where it serves
};

}  // namespace

HeadPlasticity measure_plasticity(const PooledQueries& queries, const HeadRows& keys, const DrawCells& draw,
                                  Method method, Weighting weighting) {
  const GroupedLines lines(method, queries.lines, queries.frame, split_all(queries), queries.position,
                           queries.captured);
  HeadPlasticity head;
  CellMean overall(weighting);
  std::vector<CellMean> without(queries.groups, CellMean(weighting));
  Matrix differences;  // of one cell after the other
  for (const auto& [bucket_, rows] : rows_by_bucket(queries.bucket)) {
    if (bucket_ <= 0 || rows.size() < fewest_queries(method)) continue;
    const std::int64_t bucket = bucket_;
    const std::size_t n_queries = rows.size();
    const BucketMeasurement measurement(queries, rows, keys, method, lines);
    PairMean at_time;
    draw(bucket, measurement.position(), [&](const CellPairs& cell) {
      const PairMean mean = measurement.add(cell, differences, without);
      head.cells.push_back({bucket, cell.key_bucket, mean.value(), mean.count});
      overall.add(mean, n_queries);
      at_time.sum += mean.sum;
      at_time.count += mean.count;
    });
    head.times.push_back({bucket, measurement.position(), at_time.value(), at_time.count, n_queries});
  }
  head.overall = overall.value();
  for (const CellMean& mean : without) head.without_group.push_back(mean.value());
  return head;
}

}  // namespace attention_plasticity
