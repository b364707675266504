#include "attention_plasticity/figure/figure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "attention_plasticity/error.h"
#include "attention_plasticity/figure/captions.h"
#include "attention_plasticity/figure/cell_map.h"
#include "attention_plasticity/figure/comparison_figures.h"
#include "attention_plasticity/figure/drawn_table.h"
#include "attention_plasticity/figure/image_file.h"
#include "attention_plasticity/figure/run_pair.h"

namespace attention_plasticity {
namespace {

using Run = std::optional<RunDescription>;

// Width of the labels and the colour bar beside a map, in inches.
constexpr double map_margin = 1.8;
// Height of the title, labels, legend and caption above and below a map, in inches.
constexpr double upright_margin = 1.4;

const char* aggregate_word(Aggregate aggregate) { return aggregate == Aggregate::mean ? "mean" : "median"; }

// "mean of 40 heads"; nothing for one head, whose values are its own.
std::string aggregate_text(Aggregate aggregate, std::size_t heads) {
  return heads == 1 ? "" : fmt::format(", {} of {} heads", aggregate_word(aggregate), heads);
}

std::string title_of(const FigureOptions& options, const Run& run, std::string_view what) {
  if (options.title) return *options.title;
  const std::optional<std::string> model = options.model_name || !run ? options.model_name : run->model;
  return model ? fmt::format("{} — {}", what, *model) : std::string(what);
}

double min_count_of(const FigureOptions& options) { return static_cast<double>(options.min_count); }

// Labels stand at every 1st, 2nd, 4th... bin: the smallest step at which labels of `label_points` fit into `inches`.
int label_step(std::size_t bins, double inches, double label_points) {
  const double most = std::max(2.0, inches * 72 / label_points);
  int step = 1;
  while (static_cast<double>(bins) / step > most) step *= 2;
  return step;
}

// Ticks at the starts of bins and at the end of the last bin: at multiples of `step`, or where bins are missing at
// every `step`-th of those that are there.
template <typename Label>
std::vector<Tick> bin_ticks(const std::vector<std::int64_t>& bins, int step, Label&& label) {
  const bool has_gaps = static_cast<std::size_t>(bins.back() - bins.front()) >= bins.size();
  const std::vector<std::int64_t> edges = bin_edges(bins);
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const std::int64_t counted = has_gaps ? static_cast<std::int64_t>(i) : edges[i];
    if (counted % step == 0) ticks.push_back({static_cast<double>(i), label(edges[i])});
  }
  return ticks;
}

// Ticks at the middles of rows or columns with these numbers, at every `step`-th of them.
std::vector<Tick> index_ticks(const std::vector<int>& indices, int step) {
  std::vector<Tick> ticks;
  ticks.reserve(indices.size());
  for (std::size_t i = 0; i < indices.size(); i += static_cast<std::size_t>(step)) {
    ticks.push_back({static_cast<double>(i) + 0.5, fmt::format("{}", indices[i])});
  }
  return ticks;
}

// The length in points that a label takes: on the x axis the width of the widest label, on the y axis 1.5 lines.
double widest_label(int letters) { return (letters + 0.6) * letter_width * font_points; }
constexpr double label_line = 1.5 * font_points;

// Without options the colour scale runs from the least to the largest coloured value. A single value lies in it, and
// the scale does not leave the range of possible values.
void set_scale(MapDrawing& map, const FigureOptions& options, const ValueRange& possible) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t row = 0; row < map.cells.rows(); ++row) {
    for (const double value : map.cells.row(row)) {
      if (std::isnan(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) {  // every cell is hatched
    low = std::isfinite(possible.low) ? possible.low : 0;
    high = std::isfinite(possible.high) ? possible.high : low + 1;
  }
  if (low == high && !options.vmin && !options.vmax) {
    const double room = low == 0 ? 0.5 : std::abs(low) / 2;
    low = std::max(low - room, std::min(low, possible.low));
    high = std::min(high + room, std::max(high, possible.high));
  }
  map.low = options.vmin.value_or(low);
  map.high = options.vmax.value_or(high);
  if (map.low < map.high) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("`vmin` should be below `vmax`: the values go from {:.4g} to {:.4g}, the colours from {:.4g} to "
                  "{:.4g}",
                  low, high, map.low, map.high));
}

FigureScript curves_figure(const FigureOptions& options, const DrawnTable& drawn) {
  FigureScript script{{}, drawn.files.notes()};
  const DrawnCurves data = drawn_curves(options, drawn);
  const auto& [curves, geometry, is_exact, is_bound] = data;
  if (!is_exact && !options.pooled) {
    script.notes.push_back(
        fmt::format("{} has no position-exact plasticity; the pooled one is drawn", drawn.table.file));
  }
  const CurveLook look{options.alpha,           options.line_width,
                       options.curve_colors,    ColorMap(options.cmap.value_or("viridis")),
                       options.trend_threshold, min_count_of(options)};
  const char* measure = is_exact ? "Position-exact plasticity" : "Pooled plasticity";
  const FigureLabels labels{title_of(options, drawn.run, fmt::format("{} by position of the query", measure)),
                            geometry.in_tokens ? "position of the query (tokens)" : "bucket of the query",
                            is_exact ? "position-exact plasticity" : "pooled plasticity",
                            options.caption.value_or(curves_caption(
                                curves, head_text(drawn.table, curves.num_heads, drawn.all_heads),
                                is_exact ? "triples" : "pairs of keys", min_count_of(options), is_bound))};
  script.text = curves_script(curves, geometry, look, labels, canvas_of(options, 7, 4.5));
  return script;
}

std::string cells_figure(const FigureOptions& options, const DrawnTable& drawn, const CellMap& map, FigureLabels labels,
                         std::string_view measure, std::string_view counted,
                         const std::function<double(std::int64_t)>& start) {
  const Canvas canvas = canvas_of(options, 6, 5.4);
  MapDrawing drawing = cell_map_drawing(map, canvas, [&](std::int64_t bin) { return token_label(start(bin)); });
  drawing.color_label = fmt::format("{}{}", measure, aggregate_text(options.agg, map.heads));
  if (map.has_counts) hatch_little_data(drawing, map.support, min_count_of(options));
  set_scale(drawing, options, {0, 1});
  labels.caption = options.caption.value_or(cells_caption(map.has_counts ? &map.counts : nullptr,
                                                          head_text(drawn.table, map.heads, drawn.all_heads), counted,
                                                          !drawing.hatched.empty(), map.heads, min_count_of(options)));
  return map_script(drawing, ColorMap(options.cmap.value_or("magma")), labels, canvas);
}

std::string heatmap_figure(const FigureOptions& options, const DrawnTable& drawn) {
  const BucketGeometry geometry = geometry_of(options, drawn.run);
  const CellMap map = bucket_map(drawn.table, options.agg);
  check_reach(geometry, bin_edges(map.rows).back());
  const char* unit = geometry.in_tokens ? "(tokens)" : "(bucket)";
  return cells_figure(options, drawn, map,
                      {title_of(options, drawn.run, "Pooled plasticity by position of query and keys"),
                       fmt::format("position of the keys {}", unit), fmt::format("position of the query {}", unit)},
                      "pooled plasticity", "pairs of keys",
                      [&](std::int64_t bucket) { return geometry.start(bucket); });
}

std::string distance_figure(const FigureOptions& options, const DrawnTable& drawn) {
  return cells_figure(options, drawn, distance_map(drawn.table, options.agg),
                      {title_of(options, drawn.run, "Position-exact plasticity by distance of the keys"),
                       "distance of the nearer key (tokens)", "distance of the farther key (tokens)"},
                      "position-exact plasticity", "triples", distance_bin_start);
}

std::string bars_figure(const FigureOptions& options, const DrawnTable& drawn) {
  const ComponentBars bars = component_bars(drawn.table, options.agg, options.limit);
  const std::string heads = head_text(drawn.table, bars.heads, drawn.all_heads);
  const std::string y_label = options.ylabel.value_or("share" + aggregate_text(options.agg, bars.heads));
  return bars_script(
      bars,
      {title_of(options, drawn.run, "Linear positional information by component, pooled over positions"), "component",
       y_label, options.caption.value_or(bars.heads == 1 ? heads : heads + ", which weigh the same")},
      canvas_of(options, 7, 3.6));
}

std::string mark_note(const std::map<int, std::int64_t>& windows) {
  std::set<std::int64_t> lengths;
  for (const auto& [layer, window] : windows) lengths.insert(window);
  return fmt::format("sliding window ({} tokens)", fmt::join(lengths, ", "));
}

// "Position-exact plasticity (ap_exact) of every head". Columns that the schema does not know have their name only.
std::string heads_title(const std::string& column) {
  const ResultTable& schema = result_table(TableId::metrics);
  const ResultColumn* known = schema.find(column);
  if (known == nullptr) return column;
  if (!known->title.empty()) return fmt::format("{} ({})", known->title, column);
  return fmt::format("{} ({})", column, is_exact(schema, *known) ? "position-exact" : "pooled over positions");
}

FigureScript heads_figure(const FigureOptions& options, const DrawnTable& drawn) {
  FigureScript script{{}, drawn.files.notes()};
  const HeadMetrics metrics(drawn.table);
  const std::string column = options.column.value_or(main_column(metrics));
  if (!options.column && column != headline_measures().front()) {
    script.notes.push_back(
        fmt::format("{} has no {}; {} is drawn", metrics.file(), headline_measures().front(), column));
  }
  const HeadMap map = head_map(metrics, column, drawn.run, options.selection);
  const ResultColumn* known = result_table(TableId::metrics).find(column);
  const Canvas canvas = head_map_canvas(options, map);
  MapDrawing drawing = head_map_drawing(map, canvas);
  drawing.color_label = column;
  for (const auto& [layer, window] : map.windows) {
    drawing.marked_rows.push_back(
        static_cast<std::size_t>(std::ranges::lower_bound(map.layers, layer) - map.layers.begin()));
  }
  drawing.mark_note = mark_note(map.windows);
  const auto num_measured = static_cast<std::size_t>(
      std::count_if(map.values.data(), map.values.data() + map.values.rows() * map.values.cols(),
                    [](double value) { return !std::isnan(value); }));
  hatch_little_data(drawing, map.counts, min_count_of(options));
  set_scale(drawing, options, known == nullptr ? ValueRange{} : known->range);
  const ResultColumn* count = known == nullptr ? nullptr : result_table(TableId::metrics).find(known->counted_by);
  const std::string caption =
      heads_caption(map.counts, head_text(drawn.table, num_measured, drawn.all_heads),
                    count == nullptr ? "" : count->counts, !drawing.hatched.empty(), min_count_of(options));
  const std::string title = drawn.table.rows.size() == 1 ? heads_title(column) : heads_title(column) + " by head";
  script.text = map_script(
      drawing, ColorMap(options.cmap.value_or("viridis")),
      {title_of(options, drawn.run, title), "query head", "layer", options.caption.value_or(caption)}, canvas);
  return script;
}

}  // namespace

Canvas canvas_of(const FigureOptions& options, double width, double height) {
  return {options.width.value_or(width), options.height.value_or(height), options.dpi, options.format, options.style};
}

void hatch_little_data(MapDrawing& map, const Matrix& counts, double min_count) {
  for (std::size_t row = 0; row < map.cells.rows(); ++row) {
    for (std::size_t column = 0; column < map.cells.cols(); ++column) {
      double& value = map.cells.row(row)[column];
      if (std::isnan(value) || !(counts.row(row)[column] < min_count)) continue;
      value = std::numeric_limits<double>::quiet_NaN();
      map.hatched.push_back({row, column});
    }
  }
  map.hatch_note = "little data";
}

MapDrawing cell_map_drawing(const CellMap& map, const Canvas& canvas,
                            const std::function<std::string(std::int64_t)>& label) {
  std::size_t letters = 1;
  for (const std::int64_t bin : bin_edges(map.columns)) letters = std::max(letters, label(bin).size());
  MapDrawing drawing;
  drawing.cells = map.cells;
  drawing.square_cells = true;
  // Cells are square, so the narrower side sets their size. Both axes count the same buckets or bins: one step for
  // both.
  const double cell = std::min((canvas.width - map_margin) / static_cast<double>(map.cells.cols()),
                               (canvas.height - upright_margin) / static_cast<double>(map.cells.rows()));
  const int step = std::max(label_step(map.cells.cols(), cell * static_cast<double>(map.cells.cols()),
                                       widest_label(static_cast<int>(letters))),
                            label_step(map.cells.rows(), cell * static_cast<double>(map.cells.rows()), label_line));
  drawing.x_ticks = bin_ticks(map.columns, step, label);
  drawing.y_ticks = bin_ticks(map.rows, step, label);
  return drawing;
}

Canvas head_map_canvas(const FigureOptions& options, const HeadMap& map) {
  const auto layers = static_cast<double>(map.values.rows());
  const auto heads = static_cast<double>(map.values.cols());
  return canvas_of(options, std::clamp(2.6 + 0.28 * heads, 5.0, 12.0), std::clamp(2 + 0.16 * layers, 3.4, 12.0));
}

MapDrawing head_map_drawing(const HeadMap& map, const Canvas& canvas) {
  MapDrawing drawing;
  drawing.cells = map.values;
  drawing.first_row_on_top = true;
  drawing.x_ticks = index_ticks(map.heads, label_step(map.heads.size(), canvas.width - map_margin, widest_label(2)));
  drawing.y_ticks = index_ticks(map.layers, label_step(map.layers.size(), canvas.height - upright_margin, label_line));
  drawing.blank_note = "not measured";
  return drawing;
}

FigureScript figure_script(const FigureOptions& options) {
  if (options.vmin && options.vmax && *options.vmin >= *options.vmax) {
    throw Error(ErrorKind::usage,
                fmt::format("`vmin` should be below `vmax`: {} is not below {}", *options.vmin, *options.vmax));
  }
  if (options.kind >= FigureKind::changes) return comparison_figure(options);
  if (options.against) return run_pair_figure(options);
  const DrawnTable drawn = drawn_table(options);
  switch (options.kind) {
    case FigureKind::plasticity:
      return curves_figure(options, drawn);
    case FigureKind::heatmap:
      return {heatmap_figure(options, drawn), drawn.files.notes()};
    case FigureKind::components:
      return {bars_figure(options, drawn), drawn.files.notes()};
    case FigureKind::distance:
      return {distance_figure(options, drawn), drawn.files.notes()};
    default:
      return heads_figure(options, drawn);
  }
}

Figure draw_figure(const FigureOptions& options, const Gnuplot& gnuplot) {
  FigureScript script = figure_script(options);
  GnuplotOutput output = run_gnuplot(gnuplot, script.text);
  check_image(output.image, options.format);
  if (options.format == ImageFormat::pdf) output.image = without_date(std::move(output.image));
  for (const std::string& note : output.notes) script.notes.push_back("gnuplot: " + note);
  return {std::move(output.image), std::move(script.notes)};
}

}  // namespace attention_plasticity
