#include "attention_plasticity/plasticity/exact.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/plasticity/grouped_queries.h"
#include "attention_plasticity/plasticity/triples.h"
#include "attention_plasticity/plasticity/win_probability.h"
#include "attention_plasticity/stats/eigen.h"

namespace attention_plasticity {
namespace {

// Triples handled together: the products with all queries stay in the cache.
constexpr std::size_t block_size = 256;

// Vectors as the model compares them, turned back to where all positions are alike.
class UnrotatedFrame {
 public:
  explicit UnrotatedFrame(const ExactSettings& settings) : settings_(settings) {}

  // q̃ of a query.
  void query(std::span<const float> captured, double position, std::span<double> out) const {
    std::ranges::copy(captured, out.begin());
    if (settings_.vectors == Vectors::post) {
      settings_.rotation.turn(out, -position);
    } else {
      scale(out);
    }
  }

  // u = R(-t)(k_a - k_b), the keys as they stand at their positions, for a query at t.
  void key_difference(const HeadRows& keys, std::size_t a, std::size_t b, double t, std::span<double> out) {
    const auto first = keys.row(a);
    const auto second = keys.row(b);
    if (settings_.vectors == Vectors::post) {
      for (std::size_t c = 0; c < out.size(); ++c)
        out[c] = static_cast<double>(first[c]) - static_cast<double>(second[c]);
      settings_.rotation.turn(out, -t);
      return;
    }
    std::ranges::copy(first, out.begin());
    other_key_.assign(second.begin(), second.end());
    settings_.rotation.turn(out, keys.position[a] - t);
    settings_.rotation.turn(other_key_, keys.position[b] - t);
    for (std::size_t c = 0; c < out.size(); ++c) out[c] -= other_key_[c];
    scale(out);
  }

 private:
  // Captured before rotation, so before the model scaled what it turns.
  void scale(std::span<double> vector) const {
    for (double& x : vector.first(settings_.rotation.dim())) x *= settings_.rotation.attention_factor;
  }

  const ExactSettings& settings_;
  std::vector<double> other_key_;
};

Matrix unrotated_queries(const HeadRows& queries, const UnrotatedFrame& frame) {
  Matrix unrotated(queries.size(), queries.width);
  for (std::size_t i = 0; i < queries.size(); ++i) frame.query(queries.row(i), queries.position[i], unrotated.row(i));
  return unrotated;
}

GroupedRows rows_by_group(std::span<const std::size_t> group, std::size_t groups, std::size_t rows) {
  GroupedRows by_group(std::max<std::size_t>(groups, 1));
  for (std::size_t row = 0; row < rows; ++row) by_group[group.empty() ? 0 : group[row]].push_back(row);
  return by_group;
}

Matrix chosen_rows(const Matrix& all, std::span<const std::size_t> chosen) {
  Matrix rows(chosen.size(), all.cols());
  for (std::size_t i = 0; i < chosen.size(); ++i) std::ranges::copy(all.row(chosen[i]), rows.row(i).begin());
  return rows;
}

// The model-free plasticity of each direction: how often w·q > 0 over the given queries, without a bias of their
// number.
std::vector<double> counted_plasticity(const Matrix& queries, const Matrix& directions) {
  const RowMajorMatrix along = as_eigen(queries) * as_eigen(directions);
  const Eigen::RowVectorXd wins =
      (along.array() > 0).cast<double>().colwise().sum() + 0.5 * (along.array() == 0).cast<double>().colwise().sum();
  const auto n = static_cast<double>(queries.rows());
  std::vector<double> plasticity;
  plasticity.reserve(directions.cols());
  for (const double count : wins) plasticity.push_back(4 * (count / n) * (1 - count / n) * n / (n - 1));
  return plasticity;
}

int distance_bin(double distance) { return std::ilogb(1.0 + distance); }

// Sums over triples, and their means.
struct Sums {
  double plasticity = 0;
  double fixed = 0;
  double spread = 0;
  std::size_t n = 0;

  void add(double triple_plasticity, double logit_fixed, double logit_spread) {
    plasticity += triple_plasticity;
    fixed += logit_fixed;
    spread += logit_spread;
    ++n;
  }
};

double mean(double sum, std::size_t n) {
  return n > 0 ? sum / static_cast<double>(n) : std::numeric_limits<double>::quiet_NaN();
}

class Measurement {
 public:
  // The triples are drawn before the queries of the model-free check.
  Measurement(const HeadRows& queries, const HeadRows& keys, const ExactSettings& settings, const Matrix& unrotated,
              std::span<const std::size_t> query_group, const GroupedRows& by_group, std::size_t groups,
              NumpyGenerator& generator)
      : queries_(queries),
        keys_(keys),
        frame_(settings),
        query_group_(query_group),
        triples_(draw_triples(queries, keys, settings.window_unit, settings.num_triples, generator)),
        scatter_(unrotated, by_group, 0),
        counted_(chosen_rows(unrotated, generator.choice_without_replacement(
                                            queries.size(), std::min(settings.empirical_queries, queries.size())))),
        without_(groups) {
    for (std::size_t g = 0; g < groups; ++g) queries_without_.push_back(queries.size() - by_group[g].size());
  }

  ExactPlasticity run() {
    for (std::size_t first = 0; first < triples_.size(); first += block_size) {
      add_block(std::span(triples_).subspan(first, std::min(block_size, triples_.size() - first)));
    }
    ExactPlasticity exact;
    exact.n_triples = all_.n;
    exact.overall = mean(all_.plasticity, all_.n);
    exact.logit_fixed = mean(all_.fixed, all_.n);
    exact.logit_spread = mean(all_.spread, all_.n);
    if (counted_.rows() > 1) exact.empirical = mean(counted_plasticity_, all_.n);
    for (const auto& [bins, sums] : by_distance_) {
      exact.distances.push_back({bins.first, bins.second, mean(sums.plasticity, sums.n), mean(sums.fixed, sums.n),
                                 mean(sums.spread, sums.n), sums.n});
    }
    for (const Sums& without : without_) exact.without_group.push_back(mean(without.plasticity, without.n));
    return exact;
  }

 private:
  // The u of each triple, one column each.
  Matrix directions(std::span<const Triple> triples) {
    Matrix directions(keys_.width, triples.size());
    std::vector<double> u(keys_.width);
    for (std::size_t i = 0; i < triples.size(); ++i) {
      const Triple& triple = triples[i];
      frame_.key_difference(keys_, triple.first, triple.second, queries_.position[triple.query], u);
      for (std::size_t c = 0; c < u.size(); ++c) directions.row(c)[i] = u[c];
    }
    return directions;
  }

  void add_block(std::span<const Triple> triples) {
    const Matrix u = directions(triples);
    const GroupedScatter::Projection projection = scatter_.project(u);
    const ProjectedMoments moments = projection.moments();
    const double root_d = std::sqrt(static_cast<double>(keys_.width));
    for (std::size_t i = 0; i < triples.size(); ++i) {
      const double fixed = std::abs(moments.mean[i]) / root_d;
      const double spread = std::sqrt(moments.variance[i]) / root_d;
      const double value = plasticity(moments.mean[i], moments.variance[i]);
      all_.add(value, fixed, spread);
      by_distance_[bins(triples[i])].add(value, fixed, spread);
    }
    for (std::size_t g = 0; g < without_.size(); ++g) add_without(g, triples, projection);
    if (counted_.rows() > 1) {
      for (const double value : counted_plasticity(counted_, u)) counted_plasticity_ += value;
    }
  }

  void add_without(std::size_t group, std::span<const Triple> triples, const GroupedScatter::Projection& projection) {
    if (queries_without_[group] < 2) return;
    const ProjectedMoments moments = projection.moments(group);
    for (std::size_t i = 0; i < triples.size(); ++i) {
      if (query_group_[triples[i].query] == group) continue;
      without_[group].add(plasticity(moments.mean[i], moments.variance[i]), 0, 0);
    }
  }

  std::pair<int, int> bins(const Triple& triple) const {
    const double t = queries_.position[triple.query];
    return std::minmax(
        {distance_bin(t - keys_.position[triple.first]), distance_bin(t - keys_.position[triple.second])});
  }

  const HeadRows& queries_;
  const HeadRows& keys_;
  UnrotatedFrame frame_;
  std::span<const std::size_t> query_group_;
  std::vector<Triple> triples_;
  GroupedScatter scatter_;
  Matrix counted_;                            // queries of the model-free check, unrotated
  std::vector<std::size_t> queries_without_;  // each group

  Sums all_;
  std::map<std::pair<int, int>, Sums> by_distance_;
  std::vector<Sums> without_;
  double counted_plasticity_ = 0;
};

}  // namespace

ExactPlasticity measure_exact_plasticity(const HeadRows& queries, const HeadRows& keys, const ExactSettings& settings,
                                         std::span<const std::size_t> query_group, std::size_t groups,
                                         NumpyGenerator generator) {
  if (queries.size() < 2) {
    ExactPlasticity nothing;
    nothing.without_group.assign(groups, std::numeric_limits<double>::quiet_NaN());
    return nothing;
  }
  const Matrix unrotated = unrotated_queries(queries, UnrotatedFrame(settings));
  const GroupedRows by_group = rows_by_group(query_group, groups, queries.size());
  return Measurement(queries, keys, settings, unrotated, query_group, by_group, groups, generator).run();
}

}  // namespace attention_plasticity
