#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "attention_plasticity/figure/bucket_geometry.h"
#include "attention_plasticity/figure/mean_error.h"
#include "attention_plasticity/results/csv.h"

namespace attention_plasticity {

struct CurvePoint {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  std::int64_t bucket = 0;  ///< bucket of the queries
  double position = 0;      ///< middle of the bucket (BucketGeometry::middle)
  double plasticity = 0;
  double error = unknown;    ///< standard error over documents
  double count = unknown;    ///< pairs or triples
  double support = unknown;  ///< supporting_count; of a head: its count
};

/// The plasticity of one head by the position of its queries.
struct HeadCurve {
  int layer = 0;
  int q_head = 0;
  std::vector<CurvePoint> points;  ///< by bucket; at least one
  double slope = 0;                ///< slope of the least-squares line, per token; 0 for a single point
};

struct PlasticityCurves {
  std::vector<HeadCurve> heads;  ///< by layer and query head; points below min_count and heads without others left out
  std::vector<CurvePoint> mean;  ///< by bucket: mean over the heads that have the bucket, weighted by their counts
  std::size_t num_heads = 0;     ///< heads in the mean
};

enum class Trend { rising, flat, falling };

/// Rising when slope > threshold, falling when slope < -threshold, otherwise flat.
Trend trend_of(const HeadCurve& curve, double threshold);

/// Whether a table has a value of position-exact plasticity.
bool has_exact_plasticity(const CsvTable& table);

// Both throw Error(input) when a column or all values are missing. A head's points with fewer than `min_count` pairs or
// triples are left out of its own curve, but not of the mean, where they have little weight.

/// The position-exact curves of head_time_plasticity.csv, with errors where the table has them.
PlasticityCurves exact_curves(const CsvTable& table, const BucketGeometry& geometry, double min_count,
                              const MeanError& mean_error);

/// The pooled curves of head_time_plasticity.csv or head_bucket_plasticity.csv: for each head and query bucket, the
/// mean over all pairs of keys. Also reads the column names of the Python toolkit, whose tables have no counts: all
/// their cells weigh the same.
PlasticityCurves pooled_curves(const CsvTable& table, const BucketGeometry& geometry, double min_count);

}  // namespace attention_plasticity
