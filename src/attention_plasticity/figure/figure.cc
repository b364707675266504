#include "attention_plasticity/figure/figure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "attention_plasticity/error.h"
#include "attention_plasticity/figure/cell_map.h"
#include "attention_plasticity/figure/head_map.h"
#include "attention_plasticity/figure/image_file.h"
#include "attention_plasticity/results/result_files.h"

namespace attention_plasticity {
namespace {

// In the order of FigureKind.
constexpr std::array drawn_tables{TableId::buckets, TableId::buckets, TableId::components, TableId::distance,
                                  TableId::metrics};

using Run = std::optional<RunDescription>;

// Width of the labels and the colour bar beside a map, in inches.
constexpr double map_margin = 1.8;
// Height of the title, labels and legend above and below a map, in inches.
constexpr double upright_margin = 1.2;

const char* aggregate_word(Aggregate aggregate) { return aggregate == Aggregate::mean ? "mean" : "median"; }

std::string title_of(const FigureOptions& options, const Run& run, std::string_view what) {
  if (options.title) return *options.title;
  const std::optional<std::string> model = options.model_name || !run ? options.model_name : run->model;
  return model ? fmt::format("{} — {}", what, *model) : std::string(what);
}

BucketGeometry geometry_of(const FigureOptions& options, const Run& run) {
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

Canvas canvas_of(const FigureOptions& options, double width, double height) {
  return {options.width.value_or(width), options.height.value_or(height), options.dpi, options.format, options.style};
}

// Labels stand at every 1st, 2nd, 4th... bin: the smallest step at which labels of `label_points` fit into `inches`.
int label_step(std::size_t bins, double inches, double label_points) {
  const double most = std::max(2.0, inches * 72 / label_points);
  int step = 1;
  while (static_cast<double>(bins) / step > most) step *= 2;
  return step;
}

// start: ticks stand at the starts of bins and at the end of the last bin. middle: they stand at the middles of bins.
enum class TickPlace { start, middle };

template <typename Label>
std::vector<Tick> bin_ticks(int first, std::size_t count, int step, TickPlace place, Label&& label) {
  const int last = first + static_cast<int>(count) - (place == TickPlace::start ? 0 : 1);
  std::vector<Tick> ticks;
  for (int bin = first; bin <= last; ++bin) {
    if (bin % step == 0) ticks.push_back({bin - first + (place == TickPlace::start ? 0.0 : 0.5), label(bin)});
  }
  return ticks;
}

// The length in points that a label takes: on the x axis the width of the widest label, on the y axis 1.5 lines.
double widest_label(int letters) { return (letters + 0.6) * letter_width * font_points; }
constexpr double label_line = 1.5 * font_points;

// Without options the colour scale runs from the least to the largest value. A single value lies in its middle.
void set_scale(MapDrawing& map, const FigureOptions& options) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t row = 0; row < map.cells.rows(); ++row) {
    for (const double value : map.cells.row(row)) {
      if (std::isnan(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low == high && !options.vmin && !options.vmax) {
    const double room = low == 0 ? 0.5 : std::abs(low) / 2;
    low -= room;
    high += room;
  }
  map.low = options.vmin.value_or(low);
  map.high = options.vmax.value_or(high);
  if (map.low < map.high) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("vmin should be below vmax: the values go from {:.4g} to {:.4g}, the colours from {:.4g} to {:.4g}",
                  low, high, map.low, map.high));
}

std::string curves_figure(const FigureOptions& options, const CsvTable& table, const Run& run) {
  const BucketGeometry geometry = geometry_of(options, run);
  const CurveLook look{options.alpha, options.line_width, options.curve_colors,
                       ColorMap(options.cmap.value_or("viridis")), options.trend_threshold};
  const FigureLabels labels{title_of(options, run, "Attention plasticity by position of the query"),
                            geometry.in_tokens ? "position of the query (tokens)" : "bucket of the query",
                            "attention plasticity"};
  return curves_script(plasticity_curves(table, geometry), geometry, look, labels, canvas_of(options, 7, 4.5));
}

std::string cells_figure(const FigureOptions& options, const CellMap& map, const FigureLabels& labels,
                         const std::function<double(int)>& start) {
  const Canvas canvas = canvas_of(options, 6, 5);
  const auto label = [&](int bin) { return token_label(start(bin)); };
  const auto end = map.first_column + static_cast<int>(map.cells.cols());
  std::size_t letters = 1;
  for (int bin = map.first_column; bin <= end; ++bin) letters = std::max(letters, label(bin).size());
  MapDrawing drawing;
  drawing.cells = map.cells;
  drawing.square_cells = true;
  // Both axes count the same buckets or bins, so they have the same step.
  const int step =
      std::max(label_step(map.cells.cols(), canvas.width - map_margin, widest_label(static_cast<int>(letters))),
               label_step(map.cells.rows(), canvas.height - upright_margin, label_line));
  drawing.x_ticks = bin_ticks(map.first_column, map.cells.cols(), step, TickPlace::start, label);
  drawing.y_ticks = bin_ticks(map.first_row, map.cells.rows(), step, TickPlace::start, label);
  drawing.color_label = fmt::format("attention plasticity, {} over heads", aggregate_word(options.agg));
  set_scale(drawing, options);
  return map_script(drawing, ColorMap(options.cmap.value_or("magma")), labels, canvas);
}

std::string heatmap_figure(const FigureOptions& options, const CsvTable& table, const Run& run) {
  const BucketGeometry geometry = geometry_of(options, run);
  const CellMap map = bucket_map(table, options.agg);
  check_reach(geometry, map.first_row + static_cast<int>(map.cells.rows()));
  const char* unit = geometry.in_tokens ? "(tokens)" : "(bucket)";
  return cells_figure(options, map,
                      {title_of(options, run, "Attention plasticity by bucket"),
                       fmt::format("position of the keys {}", unit), fmt::format("position of the query {}", unit)},
                      [&](int bucket) { return geometry.start(bucket); });
}

std::string distance_figure(const FigureOptions& options, const CsvTable& table, const Run& run) {
  return cells_figure(options, distance_map(table, options.agg),
                      {title_of(options, run, "Attention plasticity by distance of the keys"),
                       "distance of the nearer key (tokens)", "distance of the farther key (tokens)"},
                      distance_bin_start);
}

std::string bars_figure(const FigureOptions& options, const CsvTable& table, const Run& run) {
  const ComponentBars bars = component_bars(table, options.agg, options.limit);
  const std::string y_label = options.ylabel.value_or(
      fmt::format("share, {} of {} head{}", aggregate_word(options.agg), bars.heads, bars.heads == 1 ? "" : "s"));
  return bars_script(bars, {title_of(options, run, "Linear positional information by component"), "component", y_label},
                     canvas_of(options, 7, 3.6));
}

std::string mark_note(const std::map<int, std::int64_t>& windows) {
  std::set<std::int64_t> lengths;
  for (const auto& [layer, window] : windows) lengths.insert(window);
  return fmt::format("sliding window ({} tokens)", fmt::join(lengths, ", "));
}

std::string heads_figure(const FigureOptions& options, const HeadMetrics& metrics, const Run& run) {
  const HeadMap map = head_map(metrics, options.column, run);
  const double layers = static_cast<double>(map.values.rows());
  const double heads = static_cast<double>(map.values.cols());
  const Canvas canvas =
      canvas_of(options, std::clamp(2.6 + 0.28 * heads, 5.0, 12.0), std::clamp(1.8 + 0.16 * layers, 3.4, 12.0));
  const auto number = [](int index) { return fmt::format("{}", index); };
  MapDrawing drawing;
  drawing.cells = map.values;
  drawing.first_row_on_top = true;
  drawing.x_ticks =
      bin_ticks(0, map.values.cols(), label_step(map.values.cols(), canvas.width - map_margin, widest_label(2)),
                TickPlace::middle, number);
  drawing.y_ticks =
      bin_ticks(0, map.values.rows(), label_step(map.values.rows(), canvas.height - upright_margin, label_line),
                TickPlace::middle, number);
  drawing.color_label = options.column;
  drawing.blank_note = "not measured";
  for (const auto& [layer, window] : map.windows) drawing.marked_rows.push_back(static_cast<std::size_t>(layer));
  drawing.mark_note = mark_note(map.windows);
  set_scale(drawing, options);
  return map_script(drawing, ColorMap(options.cmap.value_or("viridis")),
                    {title_of(options, run, fmt::format("{} of every head", options.column)), "query head", "layer"},
                    canvas);
}

}  // namespace

TableId figure_table(FigureKind kind) { return drawn_tables[static_cast<std::size_t>(kind)]; }

std::string figure_script(const FigureOptions& options) {
  if (options.vmin && options.vmax && *options.vmin >= *options.vmax) {
    throw Error(ErrorKind::usage,
                fmt::format("vmin should be below vmax: {} is not below {}", *options.vmin, *options.vmax));
  }
  const TableId id = figure_table(options.kind);
  const ResultFiles files(options.table, id);
  const CsvTable table = read_csv(files.table(id));
  const Run run = files.description();
  switch (options.kind) {
    case FigureKind::plasticity:
      return curves_figure(options, table, run);
    case FigureKind::heatmap:
      return heatmap_figure(options, table, run);
    case FigureKind::components:
      return bars_figure(options, table, run);
    case FigureKind::distance:
      return distance_figure(options, table, run);
    case FigureKind::heads:
      return heads_figure(options, HeadMetrics(table), run);
  }
  return {};
}

Figure draw_figure(const FigureOptions& options, const Gnuplot& gnuplot) {
  GnuplotOutput output = run_gnuplot(gnuplot, figure_script(options));
  check_image(output.image, options.format);
  if (options.format == ImageFormat::pdf) output.image = without_date(std::move(output.image));
  return {std::move(output.image), std::move(output.notes)};
}

}  // namespace attention_plasticity
