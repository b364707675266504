#pragma once

#include <vector>

#include "attention_plasticity/figure/bucket_geometry.h"
#include "attention_plasticity/results/csv_table.h"

namespace attention_plasticity {

struct CurvePoint {
  int bucket = 0;       ///< bucket of the queries
  double position = 0;  ///< middle of the bucket (BucketGeometry::middle)
  double plasticity = 0;
};

/// The plasticity of one head by the position of its queries.
struct HeadCurve {
  int layer = 0;
  int q_head = 0;
  std::vector<CurvePoint> points;  ///< by bucket; at least one
  double slope = 0;                ///< slope of the least-squares line, per token; 0 for a single point
};

struct PlasticityCurves {
  std::vector<HeadCurve> heads;  ///< by layer and query head
  std::vector<CurvePoint> mean;  ///< by bucket: mean over the heads that have the bucket
};

enum class Trend { rising, flat, falling };

/// Rising when slope > threshold, falling when slope < -threshold, otherwise flat.
Trend trend_of(const HeadCurve& curve, double threshold);

/// The curves of head_bucket_plasticity.csv: for each head and query bucket, the mean over key buckets. Empty values do
/// not count. Also reads the column names of the Python toolkit. Throws Error(input) when a column or all values are
/// missing.
PlasticityCurves plasticity_curves(const CsvTable& table, const BucketGeometry& geometry);

}  // namespace attention_plasticity
