#include "kernel_table.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/analysis/query_statistics.h"
#include "attention_plasticity/analysis/run_groups.h"
#include "attention_plasticity/base/widen.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/plasticity/cells.h"
#include "attention_plasticity/plasticity/exact.h"
#include "attention_plasticity/plasticity/grouped_queries.h"
#include "attention_plasticity/plasticity/key_buckets.h"
#include "attention_plasticity/plasticity/key_difference_kernel.h"
#include "attention_plasticity/plasticity/key_pairs.h"
#include "attention_plasticity/plasticity/position_frame.h"
#include "attention_plasticity/plasticity/triples.h"
#include "attention_plasticity/plasticity/win_probability_kernel.h"
#include "attention_plasticity/rotary/rotation_table.h"
#include "attention_plasticity/stats/householder.h"
#include "attention_plasticity/stats/kolmogorov.h"
#include "attention_plasticity/stats/kolmogorov_bins.h"
#include "attention_plasticity/stats/line_fit.h"
#include "attention_plasticity/stats/normal.h"
#include "attention_plasticity/stats/reflected_rows.h"
#include "attention_plasticity/synth/generated_rows.h"
#include "attention_plasticity/synth/options.h"

namespace {

namespace ap = attention_plasticity;

/// A head file that is removed when the last kernel that reads it is destroyed.
struct TemporaryHeadFile {
  std::filesystem::path path;

  explicit TemporaryHeadFile(const ap::HeadRows& rows)
      : path(std::filesystem::temp_directory_path() /
             ("kernel_table." + std::to_string(getpid()) + "." + std::to_string(rows.vectors.size()) + ".parquet")) {
    ap::write_head_file(path, rows);
  }
  TemporaryHeadFile(const TemporaryHeadFile&) = delete;
  TemporaryHeadFile& operator=(const TemporaryHeadFile&) = delete;
  ~TemporaryHeadFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

/// One head and what the stages of its analysis hand to each other.
struct Head {
  ap::HeadRows queries;
  ap::HeadRows keys;
  ap::Rotation rotation;
  ap::Matrix vectors;              // queries in double
  std::vector<double> slope;       // of the queries' lines on position
  std::vector<double> component0;  // standardised
  ap::JackknifeGroups groups;
  ap::GroupedRows one_group;
  ap::GroupedRows by_group;
  ap::LineFit lines;
  ap::KeyBuckets key_buckets;
  ap::Matrix directions;  // key differences of the first cell of the last query bucket
};

std::vector<double> standardised_component(const ap::Matrix& vectors, std::size_t component) {
  std::vector<double> values(vectors.rows());
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] = vectors.row(i)[component];
  double squares = 0;
  for (double& value : values) {
    value -= sum / static_cast<double>(values.size());
    squares += value * value;
  }
  for (double& value : values) value /= std::sqrt(squares / static_cast<double>(values.size() - 1));
  return values;
}

/// The pairs of each cell of a query bucket that sees all key buckets before it.
std::vector<std::vector<ap::KeyPair>> draw_cells(const Head& head, std::int64_t query_bucket) {
  const ap::BucketPairSampler sampler(head.keys, head.key_buckets);
  ap::NumpyGenerator generator(ap::GeneratorSeed{0});
  std::vector<std::vector<ap::KeyPair>> cells;
  for (const std::int64_t key_bucket :
       ap::visible_key_buckets(head.key_buckets, query_bucket, 0.0, std::nullopt, ap::WindowUnit::tokens)) {
    cells.push_back(sampler.draw(key_bucket, 256, generator));
  }
  return cells;
}

ap::SynthOptions synth_options(std::size_t rows, std::size_t dim) {
  ap::SynthOptions options;
  options.layers = 1;
  options.q_heads = 1;
  options.k_heads = 1;
  options.rows = rows;
  options.dim = dim;
  options.examples = 64;
  options.tails = ap::Tails::heavy;
  options.bfloat16 = true;
  options.rope_theta = 10000.0;
  options.truth_pairs = 0;
  return options;
}

std::shared_ptr<const Head> make_head(std::size_t rows, std::size_t dim) {
  auto head = std::make_shared<Head>();
  const ap::SynthOptions options = synth_options(rows, dim);
  head->queries = ap::generate_rows(options, ap::Side::query, {0, 0});
  head->keys = ap::generate_rows(options, ap::Side::key, {0, 0});
  head->rotation = *ap::make_rotation(options);
  head->vectors = ap::Matrix(rows, dim);
  std::copy(head->queries.vectors.begin(), head->queries.vectors.end(), head->vectors.data());
  ap::LineMoments moments(dim);
  for (std::size_t i = 0; i < rows; ++i) moments.add(head->queries.position[i], head->vectors.row(i));
  head->lines = moments.finish();
  head->slope = head->lines.slope;
  head->component0 = standardised_component(head->vectors, 0);
  const ap::RunGroups groups(ap::ranges_of(ap::distinct_examples(head->queries.example, head->keys.example)));
  head->groups = groups.of_head(head->queries.example, head->keys.example).rows;
  head->one_group = ap::split_rows(rows, {}, 0);
  head->by_group = ap::split_rows(rows, head->groups.of_query, head->groups.count);
  head->key_buckets = ap::group_by_bucket(head->keys);
  const std::vector<ap::KeyPair> pairs = draw_cells(*head, static_cast<std::int64_t>(options.buckets - 1)).front();
  head->directions = ap::Matrix(pairs.size(), dim);
  ap::write_differences(head->keys, pairs, head->directions);
  return head;
}

double sum(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

ap::QueryRow captured_queries(const Head& head) {
  return [&head](std::size_t row, std::span<double> out) { ap::widen(head.queries.row(row), out); };
}

double pooled(const Head& head, bool jackknife, ap::Method method = ap::Method::positional) {
  const std::vector<double> orientation(head.queries.width, 1.0);
  const ap::PositionFrame frame(orientation, ap::Householder(head.slope));
  return ap::measure_plasticity(head.queries, head.keys, frame, head.lines, {.method = method},
                                jackknife ? head.groups : ap::JackknifeGroups(),
                                ap::NumpyGenerator(ap::GeneratorSeed{0}))
      .overall;
}

double exact(const Head& head, bool jackknife, std::size_t empirical_queries) {
  ap::ExactSettings settings;
  settings.rotation = head.rotation;
  settings.empirical_queries = empirical_queries;
  return ap::measure_exact_plasticity(head.queries, head.keys, settings,
                                      jackknife ? head.groups : ap::JackknifeGroups(),
                                      ap::NumpyGenerator(ap::GeneratorSeed{1}))
      .overall;
}

double projected(const Head& head, const ap::GroupedRows& groups) {
  const ap::GroupedScatter scatter(head.queries.width, groups, captured_queries(head));
  return sum(scatter.project(head.directions).moments().variance);
}

}  // namespace

std::vector<Kernel> kernel_table(std::size_t rows, std::size_t dim) {
  const std::shared_ptr<const Head> head = make_head(rows, dim);
  const auto file = std::make_shared<const TemporaryHeadFile>(head->queries);
  std::vector<Kernel> kernels;
  kernels.push_back(
      {"read_head_file", [file] { return ap::read_head_file(file->path, ap::Side::query).rows.position[0]; }});
  kernels.push_back(
      {"prepare_keys", [head] { return sum(ap::orient_keys(ap::KeptRows(head->keys), {}).orientation); }});
  kernels.push_back({"line_moments", [head, dim] {
                       ap::LineMoments moments(dim);
                       for (std::size_t i = 0; i < head->queries.size(); ++i) {
                         moments.add(head->queries.position[i], head->vectors.row(i));
                       }
                       return sum(moments.finish().slope);
                     }});
  kernels.push_back(
      {"sum_rows", [head, dim] { return sum(ap::sum_rows(head->queries.position, head->queries.vectors, dim).xx); }});
  const std::vector<double> sign(dim, 1.0);
  const ap::LineSums sums = ap::sum_rows(head->queries.position, head->queries.vectors, dim);
  std::vector<double> mean = sums.mean;
  ap::Householder(head->slope).apply(mean);
  const auto reflect = [head, sign, mean](const std::vector<bool>& tested) {
    return ap::ReflectedRows(head->queries.vectors, sign, ap::Householder(head->slope), mean, tested);
  };
  const ap::ReflectedRows reflected = reflect(std::vector<bool>(dim));
  kernels.push_back({"scalar_predictability", [head, s = reflected.along_slope()] {
                       return ap::scalar_predictability(head->queries.position, s).r_squared;
                     }});
  kernels.push_back({"residual_normality", [head, first = reflected.first_component()] {
                       return ap::residual_normality(head->queries.position, first, 0.0).ks_p;
                     }});
  for (const std::size_t tests : {0U, 64U}) {
    const std::vector<bool> tested = ap::tested_components(rows, dim, tests, 0);
    kernels.push_back({tests == 0 ? "component_shapes" : "component_shapes_and_tests",
                       [reflect, tested, energy = ap::energy_of(sums)] {
                         const auto components = ap::reflected_components(reflect(tested), tested, 0.01, energy);
                         return sum(components.squares) + components.noise.median_abs_skewness;
                       }});
  }
  std::vector<std::uint16_t> codes;
  for (const double z : head->component0) codes.push_back(ap::code_of(z, 4096.0));
  kernels.push_back({"kolmogorov_bins", [head, codes, bins = ap::KolmogorovBins()]() mutable {
                       const auto exact = [&](std::span<const std::uint32_t> indices, std::span<double> z) {
                         for (std::size_t i = 0; i < indices.size(); ++i) z[i] = head->component0[indices[i]];
                       };
                       return bins.distance({codes, -8.0, 1.0 / 4096.0, exact});
                     }});
  kernels.push_back({"kolmogorov_survival", [n = rows] {
                       double survival = 0;
                       for (const double z : {0.3, 0.6, 0.9, 1.2, 1.8, 2.5, 4.0}) {
                         survival += ap::kolmogorov_survival(n, z / std::sqrt(static_cast<double>(n)));
                       }
                       return survival;
                     }});
  kernels.push_back({"normal_cdf", [head] {
                       double cdf = 0;
                       for (const double z : head->component0) cdf += ap::normal_cdf(z);
                       return cdf;
                     }});
  kernels.push_back({"plasticity_of_pairs",
                     [head, variance = std::vector<double>(rows, 1.0), values = std::vector<double>(rows)]() mutable {
                       ap::plasticity_of_pairs(head->component0, variance, values);
                       return sum(values);
                     }});
  kernels.push_back({"covariance", [head] { return projected(*head, head->one_group); }});
  kernels.push_back({"covariance_by_group", [head] { return projected(*head, head->by_group); }});
  kernels.push_back({"draw_key_pairs", [head] {
                       double last = 0;
                       for (const auto& pairs : draw_cells(*head, 15)) last += static_cast<double>(pairs.back().first);
                       return last;
                     }});
  kernels.push_back({"diagonal_plasticity", [head] { return pooled(*head, false, ap::Method::diagonal); }});
  kernels.push_back({"pooled_plasticity", [head] { return pooled(*head, false); }});
  kernels.push_back({"pooled_plasticity_with_error", [head] { return pooled(*head, true); }});
  kernels.push_back({"rotation_table", [head, x = head->vectors]() mutable {
                       const ap::RotationTable table(head->rotation, std::ranges::max(head->queries.position));
                       for (std::size_t i = 0; i < x.rows(); ++i) {
                         table.rotate(head->queries.row(i), -head->queries.position[i], x.row(i));
                       }
                       return x.row(0)[0];
                     }});
  kernels.push_back({"draw_triples", [head] {
                       ap::NumpyGenerator generator(ap::GeneratorSeed{1});
                       const auto triples =
                           ap::draw_triples(head->queries, head->keys, ap::WindowUnit::tokens, 4096, generator);
                       return static_cast<double>(triples.back().first);
                     }});
  kernels.push_back({"exact_plasticity", [head] { return exact(*head, false, 0); }});
  kernels.push_back({"exact_plasticity_with_count", [head] { return exact(*head, false, 1024); }});
  kernels.push_back({"exact_plasticity_with_error", [head] { return exact(*head, true, 0); }});
  return kernels;
}
