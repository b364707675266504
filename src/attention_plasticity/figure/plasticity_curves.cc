#include "attention_plasticity/figure/plasticity_curves.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/results/table_columns.h"
#include "attention_plasticity/stats/line_fit.h"
#include "attention_plasticity/stats/mean.h"

namespace attention_plasticity {
namespace {

using MeanByBucket = std::map<int, Mean>;

std::vector<CurvePoint> points_of(const MeanByBucket& means, const BucketGeometry& geometry) {
  std::vector<CurvePoint> points;
  points.reserve(means.size());
  for (const auto& [bucket, mean] : means) points.push_back({bucket, geometry.middle(bucket), mean.value()});
  return points;
}

double slope_of(const std::vector<CurvePoint>& points) {
  LineMoments moments(1);
  for (const CurvePoint& point : points) moments.add(point.position, {&point.plasticity, 1});
  return moments.finish().slope.front();
}

}  // namespace

Trend trend_of(const HeadCurve& curve, double threshold) {
  if (curve.slope > threshold) return Trend::rising;
  return curve.slope < -threshold ? Trend::falling : Trend::flat;
}

PlasticityCurves plasticity_curves(const CsvTable& table, const BucketGeometry& geometry) {
  const auto place = [&](std::string_view column) { return column_place(table, TableId::buckets, column); };
  const std::size_t layer = place("layer");
  const std::size_t q_head = place("q_head");
  const std::size_t bucket = place("q_bucket");
  const std::size_t value = place("plasticity");
  std::map<std::pair<int, int>, MeanByBucket> means;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::pair id(table.index(row, layer), table.index(row, q_head));
    const int q_bucket = table.index(row, bucket);
    const double plasticity = table.number(row, value);
    if (!std::isnan(plasticity)) means[id][q_bucket].add(plasticity);
  }
  if (means.empty()) throw Error(ErrorKind::input, "has no value of plasticity to draw", table.file);

  PlasticityCurves curves;
  MeanByBucket over_heads;
  for (const auto& [id, by_bucket] : means) {
    check_reach(geometry, by_bucket.rbegin()->first);
    HeadCurve curve{id.first, id.second, points_of(by_bucket, geometry), 0};
    curve.slope = slope_of(curve.points);
    for (const CurvePoint& point : curve.points) over_heads[point.bucket].add(point.plasticity);
    curves.heads.push_back(std::move(curve));
  }
  curves.mean = points_of(over_heads, geometry);
  return curves;
}

}  // namespace attention_plasticity
