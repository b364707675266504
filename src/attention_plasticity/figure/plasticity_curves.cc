#include "attention_plasticity/figure/plasticity_curves.h"

#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/figure/figure_table.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/stats/line_fit.h"

namespace attention_plasticity {
namespace {

// A head's value in a query bucket: one row of the table by time, or all rows of a query bucket of the one by cells.
struct BucketValue {
  double sum = 0;  // weighted by count
  double count = 0;
  double error = CurvePoint::unknown;
};
using HeadBuckets = std::map<std::int64_t, BucketValue>;

struct HeadValues {
  std::map<std::pair<int, int>, HeadBuckets> heads;  // by layer and query head
  bool has_counts = false;
};

struct CurveColumns {
  TableId table;
  std::string_view value;
  std::string_view error = {};  // empty: none
};

HeadValues values_of(const CsvTable& table, const CurveColumns& columns) {
  const auto place = [&](std::string_view column) { return column_place(table, columns.table, column); };
  const std::size_t layer = place("layer");
  const std::size_t q_head = place("q_head");
  const std::size_t bucket = place("q_bucket");
  const std::size_t value = place(columns.value);
  const auto count = count_place(table, columns.table, columns.value);
  const auto error = columns.error.empty() ? std::nullopt : table.find(columns.error);
  HeadValues values;
  values.has_counts = count.has_value();
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::pair id(table.index(row, layer), table.index(row, q_head));
    const std::int64_t q_bucket = table.whole_number(row, bucket);
    const double plasticity = table.number(row, value);
    const double weight = count ? table.number(row, *count) : 1;
    if (std::isnan(plasticity) || !(weight > 0)) continue;
    BucketValue& sum = values.heads[id][q_bucket];
    sum.sum += weight * plasticity;
    sum.count += weight;
    if (error) sum.error = table.number(row, *error);
  }
  if (values.heads.empty()) throw Error(ErrorKind::input, "has no value of plasticity to draw", table.file);
  return values;
}

double slope_of(const std::vector<CurvePoint>& points) {
  LineMoments moments(1);
  for (const CurvePoint& point : points) moments.add(point.position, {&point.plasticity, 1});
  return moments.finish().slope.front();
}

std::vector<CurvePoint> mean_curve(const HeadValues& values, const BucketGeometry& geometry,
                                   const MeanError& mean_error) {
  struct Sum {
    double value = 0;
    double count = 0;
    std::vector<HeadError> errors = {};
  };
  std::map<std::int64_t, Sum> sums;
  for (const auto& [id, buckets] : values.heads) {
    for (const auto& [bucket, value] : buckets) {
      // Without counts every head counts the same, whatever the number of its cells.
      const double weight = values.has_counts ? value.count : 1;
      Sum& sum = sums[bucket];
      sum.value += weight * (value.sum / value.count);
      sum.count += weight;
      sum.errors.push_back({id, weight, value.error});
    }
  }
  std::vector<CurvePoint> mean;
  mean.reserve(sums.size());
  for (const auto& [bucket, sum] : sums) {
    CurvePoint point{bucket, geometry.middle(bucket), sum.value / sum.count, mean_error.of(sum.errors)};
    if (values.has_counts) {
      point.count = sum.count;
      point.support = supporting_count(sum.count, sum.errors.size(), values.heads.size());
    }
    mean.push_back(point);
  }
  return mean;
}

PlasticityCurves curves_of(const HeadValues& values, const BucketGeometry& geometry, double min_count,
                           const MeanError& mean_error) {
  PlasticityCurves curves;
  curves.num_heads = values.heads.size();
  for (const auto& [id, buckets] : values.heads) {
    check_reach(geometry, buckets.rbegin()->first);
    HeadCurve curve{id.first, id.second, {}, 0};
    for (const auto& [bucket, value] : buckets) {
      if (values.has_counts && value.count < min_count) continue;
      const double count = values.has_counts ? value.count : CurvePoint::unknown;
      curve.points.push_back({bucket, geometry.middle(bucket), value.sum / value.count, value.error, count, count});
    }
    if (curve.points.empty()) continue;
    curve.slope = slope_of(curve.points);
    curves.heads.push_back(std::move(curve));
  }
  curves.mean = mean_curve(values, geometry, mean_error);
  return curves;
}

}  // namespace

Trend trend_of(const HeadCurve& curve, double threshold) {
  if (curve.slope > threshold) return Trend::rising;
  return curve.slope < -threshold ? Trend::falling : Trend::flat;
}

bool has_exact_plasticity(const CsvTable& table) {
  const auto column = table.find("ap_exact");
  if (!column) return false;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (!std::isnan(table.number(row, *column))) return true;
  }
  return false;
}

PlasticityCurves exact_curves(const CsvTable& table, const BucketGeometry& geometry, double min_count,
                              const MeanError& mean_error) {
  return curves_of(values_of(table, {TableId::time, "ap_exact", "ap_exact_se"}), geometry, min_count, mean_error);
}

PlasticityCurves pooled_curves(const CsvTable& table, const BucketGeometry& geometry, double min_count) {
  return curves_of(values_of(table, {TableId::buckets, "plasticity"}), geometry, min_count, {});
}

}  // namespace attention_plasticity
