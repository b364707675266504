#include "attention_plasticity/plasticity/grouped_queries.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "attention_plasticity/plasticity/scatter.h"

namespace attention_plasticity {
namespace {

// Moments of some queries along many directions: their count, means, and sums of squares around the means.
struct AlongDirections {
  double count;
  const double* mean;
  const double* squares;
};

// The moments of two sets of queries together.
void merge_moments(const AlongDirections& a, const AlongDirections& b, std::size_t directions, double* mean,
                   double* squares) {
  const double both = a.count + b.count;
  const double share = both > 0 ? b.count / both : 0.0;
  const double between = a.count * share;
  for (std::size_t i = 0; i < directions; ++i) {
    const double shift = b.mean[i] - a.mean[i];
    mean[i] = a.mean[i] + shift * share;
    squares[i] = a.squares[i] + b.squares[i] + between * shift * shift;
  }
}

}  // namespace

GroupedRows split_rows(std::span<const std::size_t> rows, std::span<const std::size_t> group_of, std::size_t groups) {
  if (groups == 0) return {std::vector<std::size_t>(rows.begin(), rows.end())};
  GroupedRows split(groups);
  for (const std::size_t row : rows) split[group_of[row]].push_back(row);
  return split;
}

GroupedRows split_rows(std::size_t rows, std::span<const std::size_t> group_of, std::size_t groups) {
  std::vector<std::size_t> all(rows);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return split_rows(all, group_of, groups);
}

GroupedPositions::GroupedPositions(std::span<const double> position, const GroupedRows& rows, double origin)
    : origin_(origin) {
  for (const auto& of_group : rows) {
    double sum = 0;
    for (const std::size_t row : of_group) sum += position[row] - origin;
    count_.push_back(of_group.size());
    sum_.push_back(sum);
  }
}

std::size_t GroupedPositions::count(LeftOut left_out) const {
  std::size_t count = 0;
  for (std::size_t g = 0; g < count_.size(); ++g) count += left_out == g ? 0 : count_[g];
  return count;
}

double GroupedPositions::mean_from_origin(LeftOut left_out) const {
  double sum = 0;
  for (std::size_t g = 0; g < sum_.size(); ++g) sum += left_out == g ? 0 : sum_[g];
  const std::size_t n = count(left_out);
  return n > 0 ? sum / static_cast<double>(n) : std::numeric_limits<double>::quiet_NaN();
}

GroupedScatter::GroupedScatter(std::size_t width, const GroupedRows& rows, const QueryRow& query)
    : forms_(width, rows.size()) {
  ScatterSum sum(width);
  for (const auto& of_group : rows) {
    sum.clear();
    for (const std::size_t row : of_group) query(row, sum.add());
    count_.push_back(static_cast<double>(of_group.size()));
    if (const double* centred = sum.finish_rows(width / 2)) {
      forms_.add_rows(sum.mean(), centred, of_group.size(), sum.stride());
    } else {
      sum.finish();
      forms_.add(sum.mean(), sum.scatter(), sum.stride());
    }
  }
}

GroupedScatter::Projection GroupedScatter::project(const Matrix& directions) const {
  Matrix mean(count_.size(), directions.rows());
  Matrix squares(count_.size(), directions.rows());
  forms_.evaluate(directions, mean, squares);
  Projection projection;
  projection.merge(count_, mean, squares);
  return projection;
}

void GroupedScatter::Projection::merge(std::span<const double> count, const Matrix& mean, const Matrix& squares) {
  const std::size_t groups = count.size();
  const std::size_t directions = mean.cols();
  for (Merged* merged : {&before_, &behind_}) {
    *merged = {std::vector<double>(groups + 1), Matrix(groups + 1, directions), Matrix(groups + 1, directions)};
  }
  const auto group = [&](std::size_t g) {
    return AlongDirections{count[g], mean.row(g).data(), squares.row(g).data()};
  };
  const auto add = [&](Merged& merged, std::size_t from, std::size_t to, std::size_t g) {
    merged.count[to] = merged.count[from] + count[g];
    merge_moments({merged.count[from], merged.mean.row(from).data(), merged.squares.row(from).data()}, group(g),
                  directions, merged.mean.row(to).data(), merged.squares.row(to).data());
  };
  for (std::size_t g = 0; g < groups; ++g) add(before_, g, g + 1, g);
  for (std::size_t g = groups; g-- > 0;) add(behind_, g + 1, g, g);
}

ProjectedMoments GroupedScatter::Projection::moments(LeftOut left_out) const {
  const std::size_t directions = before_.mean.cols();
  const std::size_t groups = before_.count.size() - 1;
  const std::size_t first = left_out.value_or(groups);
  const std::size_t rest = left_out ? first + 1 : groups;
  ProjectedMoments moments{std::vector<double>(directions), std::vector<double>(directions)};
  merge_moments({before_.count[first], before_.mean.row(first).data(), before_.squares.row(first).data()},
                {behind_.count[rest], behind_.mean.row(rest).data(), behind_.squares.row(rest).data()}, directions,
                moments.mean.data(), moments.variance.data());
  // Rounding may make a quadratic form negative where the queries have no spread along its direction.
  const double n = before_.count[first] + behind_.count[rest];
  for (double& v : moments.variance) v = std::max(0.0, n > 1 ? v / (n - 1) : v);
  return moments;
}

}  // namespace attention_plasticity
