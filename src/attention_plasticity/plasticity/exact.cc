#include "attention_plasticity/plasticity/exact.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/plasticity/grouped_queries.h"
#include "attention_plasticity/plasticity/key_difference_kernel.h"
#include "attention_plasticity/plasticity/triples.h"
#include "attention_plasticity/plasticity/win_count_kernel.h"
#include "attention_plasticity/plasticity/win_probability_kernel.h"
#include "attention_plasticity/rotary/rotation_table.h"
#include "attention_plasticity/stats/jackknife.h"
#include "attention_plasticity/stats/mean.h"

namespace attention_plasticity {
namespace {

// Number of triples handled together: their products with all queries stay in the cache.
constexpr std::size_t block_size = 256;

// The largest number of tokens that a vector is rotated by, in either direction.
double last_position(const RowsView& queries, const RowsView& keys) {
  double last = 0;
  for (const double position : queries.position) last = std::max(last, position);
  for (const double position : keys.position) last = std::max(last, position);
  return last;
}

// Un-rotates queries, and rotates key differences into the frame of un-rotated queries.
class UnrotatedFrame {
 public:
  UnrotatedFrame(const ExactSettings& settings, const RowsView& queries, const RowsView& keys)
      : settings_(settings),
        queries_(queries),
        keys_(keys),
        table_(settings.rotation, last_position(queries, keys)),
        other_key_(keys.width) {}

  // Writes q̃ of a query.
  void query(std::size_t row, std::span<double> out) const {
    if (settings_.vectors == Vectors::post) {
      table_.rotate(queries_.row(row), -queries_.position[row], out);
    } else {
      std::ranges::copy(queries_.row(row), out.begin());
      scale(out);
    }
  }

  // u = R(-t)(k_a - k_b) of each triple, where t is the position of the query and the keys are rotated to theirs.
  Matrix key_differences(std::span<const Triple> triples) {
    Matrix u(triples.size(), keys_.width);
    if (settings_.vectors == Vectors::post) {
      std::vector<KeyPair> pairs;
      for (const Triple& triple : triples) pairs.push_back({triple.first, triple.second});
      write_differences(keys_, pairs, u);
      for (std::size_t i = 0; i < triples.size(); ++i) table_.rotate(u.row(i), -queries_.position[triples[i].query]);
    } else {
      for (std::size_t i = 0; i < triples.size(); ++i) subtract_rotated_keys(triples[i], u.row(i));
    }
    return u;
  }

 private:
  void subtract_rotated_keys(const Triple& triple, std::span<double> out) {
    const double t = queries_.position[triple.query];
    table_.rotate(keys_.row(triple.first), keys_.position[triple.first] - t, out);
    table_.rotate(keys_.row(triple.second), keys_.position[triple.second] - t, other_key_);
    for (std::size_t c = 0; c < out.size(); ++c) out[c] -= other_key_[c];
    scale(out);
  }

  // Vectors captured before rotation lack the attention factor.
  void scale(std::span<double> vector) const {
    const Rotation& rotation = settings_.rotation;
    for (double& x : vector.subspan(rotation.first, rotation.dim())) x *= rotation.attention_factor;
  }

  const ExactSettings& settings_;
  RowsView queries_;
  RowsView keys_;
  RotationTable table_;
  std::vector<double> other_key_;
};

Matrix unrotated_queries(const UnrotatedFrame& frame, std::span<const std::size_t> chosen, std::size_t width) {
  Matrix rows(chosen.size(), width);
  for (std::size_t i = 0; i < chosen.size(); ++i) frame.query(chosen[i], rows.row(i));
  return rows;
}

// The model-free plasticity of a direction along which `wins` of n queries win; n / (n - 1) removes the bias.
double counted_plasticity(double wins, std::size_t queries) {
  const auto n = static_cast<double>(queries);
  return 4 * (wins / n) * (1 - wins / n) * n / (n - 1);
}

int distance_bin(double distance) { return std::ilogb(1.0 + distance); }

// The triples of each query bucket: their mean, and their means without each jackknife group.
class QueryBuckets {
 public:
  QueryBuckets(const RowsView& queries, std::span<const Triple> triples, std::size_t groups) {
    std::map<std::int64_t, std::size_t> place;
    for (const Triple& triple : triples) place.try_emplace(queries.bucket[triple.query]);
    for (auto& [bucket, index] : place) {
      index = buckets_.size();
      buckets_.push_back({bucket, {}, std::vector<Mean>(groups)});
    }
    for (const Triple& triple : triples) bucket_of_.push_back(place.at(queries.bucket[triple.query]));
  }

  void add(std::size_t triple, double plasticity) { buckets_[bucket_of_[triple]].all.add(plasticity); }
  void add_without(std::size_t group, std::size_t triple, double plasticity) {
    buckets_[bucket_of_[triple]].without[group].add(plasticity);
  }

  std::vector<ExactTime> times() const {
    std::vector<ExactTime> times;
    for (const Bucket& bucket : buckets_) {
      std::vector<double> without(bucket.without.size());
      std::ranges::transform(bucket.without, without.begin(), &Mean::value);
      times.push_back({bucket.number, bucket.all.value(), jackknife_error(without), bucket.all.count});
    }
    return times;
  }

 private:
  struct Bucket {
    std::int64_t number;
    Mean all;
    std::vector<Mean> without;
  };
  std::vector<Bucket> buckets_;         // ascending
  std::vector<std::size_t> bucket_of_;  // index of each triple's bucket
};

// The means over some triples.
struct TripleMeans {
  Mean plasticity;
  Mean fixed;
  Mean spread;

  void add(double triple_plasticity, double logit_fixed, double logit_spread) {
    plasticity.add(triple_plasticity);
    fixed.add(logit_fixed);
    spread.add(logit_spread);
  }
};

class Measurement {
 public:
  // The triples are drawn before the queries of the model-free check.
  Measurement(const RowsView& queries, const RowsView& keys, const ExactSettings& settings,
              const JackknifeGroups& groups, NumpyGenerator& generator)
      : queries_(queries),
        keys_(keys),
        frame_(settings, queries, keys),
        groups_(groups),
        by_group_(split_rows(queries.size(), groups.of_query, groups.count)),
        triples_(draw_triples(queries, keys, settings.window_unit, settings.num_triples, generator)),
        by_query_bucket_(queries, triples_, groups.count),
        scatter_(queries.width, by_group_, [this](std::size_t row, std::span<double> out) { frame_.query(row, out); }),
        counter_(unrotated_queries(
            frame_,
            generator.choice_without_replacement(queries.size(), std::min(settings.empirical_queries, queries.size())),
            queries.width)),
        without_(groups.count) {}

  MeasuredExact run() {
    for (std::size_t first = 0; first < triples_.size(); first += block_size) {
      throw_if_stopped();
      add_block(first, std::min(block_size, triples_.size() - first));
    }
    MeasuredExact exact;
    exact.n_triples = all_.plasticity.count;
    exact.overall = all_.plasticity.value();
    exact.logit_fixed = all_.fixed.value();
    exact.logit_spread = all_.spread.value();
    exact.empirical = counted_.value();
    for (const auto& [bins, means] : by_distance_) {
      exact.distances.push_back({bins.first, bins.second, means.plasticity.value(), means.fixed.value(),
                                 means.spread.value(), means.plasticity.count});
    }
    exact.times = by_query_bucket_.times();
    for (const Mean& without : without_) exact.without_group.push_back(without.value());
    return exact;
  }

 private:
  // The triples from number `first` on.
  void add_block(std::size_t first, std::size_t count) {
    const auto triples = std::span(triples_).subspan(first, count);
    const Matrix u = frame_.key_differences(triples);
    const GroupedScatter::Projection projection = scatter_.project(u);
    const ProjectedMoments moments = projection.moments();
    const double root_d = std::sqrt(static_cast<double>(keys_.width));
    std::vector<double> value(triples.size());
    plasticity_of_pairs(moments.mean, moments.variance, value);
    for (std::size_t i = 0; i < triples.size(); ++i) {
      const double fixed = std::abs(moments.mean[i]) / root_d;
      const double spread = std::sqrt(moments.variance[i]) / root_d;
      all_.add(value[i], fixed, spread);
      by_distance_[bins(triples[i])].add(value[i], fixed, spread);
      by_query_bucket_.add(first + i, value[i]);
    }
    for (std::size_t g = 0; g < without_.size(); ++g) add_without(g, first, count, projection);
    if (counter_.queries() > 1) {
      for (const double wins : counter_.count(u)) counted_.add(counted_plasticity(wins, counter_.queries()));
    }
  }

  void add_without(std::size_t group, std::size_t first, std::size_t count,
                   const GroupedScatter::Projection& projection) {
    if (queries_.size() - by_group_[group].size() < 2) return;
    const ProjectedMoments moments = projection.moments(group);
    std::vector<double> value(count);
    plasticity_of_pairs(moments.mean, moments.variance, value);
    for (std::size_t i = 0; i < count; ++i) {
      if (groups_.of_query[triples_[first + i].query] == group) continue;
      without_[group].add(value[i]);
      by_query_bucket_.add_without(group, first + i, value[i]);
    }
  }

  std::pair<int, int> bins(const Triple& triple) const {
    const double t = queries_.position[triple.query];
    return std::minmax(
        {distance_bin(t - keys_.position[triple.first]), distance_bin(t - keys_.position[triple.second])});
  }

  RowsView queries_;
  RowsView keys_;
  UnrotatedFrame frame_;
  const JackknifeGroups& groups_;
  GroupedRows by_group_;
  std::vector<Triple> triples_;
  QueryBuckets by_query_bucket_;
  GroupedScatter scatter_;
  WinCounter counter_;  // holds the queries of the model-free check

  TripleMeans all_;
  std::map<std::pair<int, int>, TripleMeans> by_distance_;
  std::vector<Mean> without_;
  Mean counted_;
};

}  // namespace

MeasuredExact measure_exact_plasticity(const RowsView& queries, const RowsView& keys, const ExactSettings& settings,
                                       const JackknifeGroups& groups, NumpyGenerator generator) {
  if (queries.size() < 2) {
    MeasuredExact nothing;
    nothing.without_group.assign(groups.count, std::numeric_limits<double>::quiet_NaN());
    return nothing;
  }
  return Measurement(queries, keys, settings, groups, generator).run();
}

}  // namespace attention_plasticity
