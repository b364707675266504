#include "attention_plasticity/figure/drawn_table.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "attention_plasticity/figure/captions.h"
#include "attention_plasticity/figure/mean_error.h"

namespace attention_plasticity {
namespace {

// The table that a figure draws. Curves are drawn from the table by time; pooled ones also from a file that has the
// cells of query and key buckets.
TableId table_of(const FigureOptions& options) {
  std::error_code unknown;
  switch (options.kind) {
    case FigureKind::plasticity:
      if (!std::filesystem::is_regular_file(options.table, unknown)) return TableId::time;
      return read_csv(options.table).find("k_bucket") ? TableId::buckets : TableId::time;
    case FigureKind::heatmap:
      return TableId::buckets;
    case FigureKind::components:
      return TableId::components;
    case FigureKind::distance:
      return TableId::distance;
    default:
      return TableId::metrics;
  }
}

}  // namespace

DrawnTable drawn_table(const FigureOptions& options) {
  TableId id = table_of(options);
  std::vector<TableId> wanted{id};
  if (id == TableId::time) wanted.insert(wanted.end(), {TableId::buckets, TableId::groups});
  ResultFiles files(options.table, id, wanted);
  // The Python toolkit writes no table by time. One that is there but not of this run is refused below.
  const bool has_times = files.find(id) || std::filesystem::exists(files.folder() / result_table(id).file);
  if (options.kind == FigureKind::plasticity && !has_times) id = TableId::buckets;
  CsvTable table = files.read(id);
  const std::size_t all_heads = num_heads(table);
  std::optional<RunDescription> run = files.description();
  table = selected_rows(std::move(table), options.selection, run ? run->num_layers : 0, run ? run->num_q_heads : 0);
  return {std::move(files), std::move(table), std::move(run), all_heads};
}

BucketGeometry geometry_of(const FigureOptions& options, const std::optional<RunDescription>& run) {
  BucketGeometry geometry;
  if (run && run->sampling) {
    geometry.type = run->sampling->logarithmic ? BucketType::log : BucketType::uniform;
    geometry.in_tokens = run->sampling->bucket_size.has_value() || run->sampling->logarithmic;
    geometry.size = run->sampling->bucket_size.value_or(1);
  }
  if (options.bucket_type) {
    geometry.type = *options.bucket_type;
    geometry.in_tokens = geometry.in_tokens || geometry.type == BucketType::log;
  }
  if (options.bucket_min_size) {
    geometry.size = *options.bucket_min_size;
    geometry.in_tokens = true;
  }
  return geometry;
}

DrawnCurves drawn_curves(const FigureOptions& options, const DrawnTable& drawn) {
  DrawnCurves data;
  data.geometry = geometry_of(options, drawn.run);
  data.is_exact = has_exact_plasticity(drawn.table) && !options.pooled;
  const bool has_groups = drawn.files.find(TableId::groups).has_value();
  const MeanError mean_error = data.is_exact && has_groups ? MeanError(drawn.files.read(TableId::groups)) : MeanError();
  data.is_bound = mean_error.is_bound();
  const auto min_count = static_cast<double>(options.min_count);
  data.curves = data.is_exact ? exact_curves(drawn.table, data.geometry, min_count, mean_error)
                              : pooled_curves(drawn.table, data.geometry, min_count);
  return data;
}

std::string main_column(const HeadMetrics& metrics) {
  const auto measures = headline_measures();
  const auto found = std::ranges::find_if(measures, [&](std::string_view name) { return metrics.has(name); });
  return std::string(found == measures.end() ? measures.front() : *found);
}

}  // namespace attention_plasticity
