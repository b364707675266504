#include "attention_plasticity/plasticity/cells.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>

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
  for (std::size_t i = 0; i < bucket.size(); ++i) rows[bucket[i]].push_back(i);
  return rows;
}

GroupedRows split(std::span<const std::size_t> rows, const RotatedQueries& queries) {
  GroupedRows groups(queries.groups);
  for (const std::size_t row : rows) groups[queries.group[row]].push_back(row);
  return groups;
}

GroupedRows split_all(const RotatedQueries& queries) {
  GroupedRows groups(queries.groups);
  for (std::size_t row = 0; row < queries.group.size(); ++row) groups[queries.group[row]].push_back(row);
  return groups;
}

// One query bucket: its model, and the cells that were drawn for it.
class BucketMeasurement {
 public:
  BucketMeasurement(const RotatedQueries& queries, const std::vector<std::size_t>& rows, Method method,
                    const GroupedLines& lines)
      : method_(method), whole_(method, queries.vectors, queries.position, {rows}, lines) {
    if (queries.groups > 0) split_.emplace(method, queries.vectors, queries.position, split(rows, queries), lines);
  }

  double position() const { return whole_.positions().mean(); }

  PairMean cell(const CellPairs& cell) const {
    PairMean mean;
    for (const double value : whole_.pairs(cell.differences).plasticity()) mean.add(value);
    return mean;
  }

  // Adds the cell to each group's mean without that group, if there are groups.
  void add_without_groups(const CellPairs& cell, std::vector<CellMean>& without) const {
    if (!split_) return;
    const QueryModel::Pairs pairs = split_->pairs(cell.differences);
    for (std::size_t g = 0; g < without.size(); ++g) {
      const std::size_t left = split_->positions().count(g);
      if (left < fewest_queries(method_)) continue;
      const std::vector<double> values = pairs.plasticity(g);
      PairMean mean;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (cell.group[i] != g) mean.add(values[i]);
      }
      without[g].add(mean, left);
    }
  }

 private:
  Method method_;
  QueryModel whole_;
  std::optional<QueryModel> split_;
};

}  // namespace

HeadPlasticity measure_plasticity(const RotatedQueries& queries, const DrawCells& draw, Method method,
                                  Weighting weighting) {
  const GroupedLines lines(queries.vectors, queries.position, split_all(queries));
  HeadPlasticity head;
  CellMean overall(weighting);
  std::vector<CellMean> without(queries.groups, CellMean(weighting));
  for (const auto& [bucket, rows] : rows_by_bucket(queries.bucket)) {
    if (bucket <= 0 || rows.size() < fewest_queries(method)) continue;
    const BucketMeasurement measurement(queries, rows, method, lines);
    PairMean at_time;
    for (const CellPairs& cell : draw(bucket, measurement.position())) {
      const PairMean mean = measurement.cell(cell);
      head.cells.push_back({bucket, cell.key_bucket, mean.value(), mean.count});
      overall.add(mean, rows.size());
      at_time.sum += mean.sum;
      at_time.count += mean.count;
      measurement.add_without_groups(cell, without);
    }
    head.times.push_back({bucket, measurement.position(), at_time.value(), at_time.count, rows.size()});
  }
  head.overall = overall.value();
  for (const CellMean& mean : without) head.without_group.push_back(mean.value());
  return head;
}

}  // namespace attention_plasticity
