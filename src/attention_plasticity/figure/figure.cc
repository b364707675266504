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
#include "attention_plasticity/figure/image_file.h"
#include "attention_plasticity/results/result_files.h"

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

double min_count_of(const FigureOptions& options) { return static_cast<double>(options.min_count); }

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

// Ticks at the starts of bins and at the end of the last bin.
template <typename Label>
std::vector<Tick> bin_ticks(int first, std::size_t count, int step, Label&& label) {
  std::vector<Tick> ticks;
  for (int bin = first; bin <= first + static_cast<int>(count); ++bin) {
    if (bin % step == 0) ticks.push_back({static_cast<double>(bin - first), label(bin)});
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

// Hatches the cells whose count is below min_count.
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

// The table of a figure, the rows of the selected heads, and what is known about the run.
struct Drawn {
  CsvTable table;
  Run run;
  std::size_t all_heads = 0;  // before the selection
};

FigureScript curves_figure(const FigureOptions& options, const ResultFiles& files, const Drawn& drawn) {
  FigureScript script{{}, files.notes()};
  const BucketGeometry geometry = geometry_of(options, drawn.run);
  const bool has_exact = has_exact_plasticity(drawn.table);
  const bool is_exact = has_exact && !options.pooled;
  if (!has_exact && !options.pooled) {
    script.notes.push_back(
        fmt::format("{} has no position-exact plasticity; the pooled one is drawn", drawn.table.file));
  }
  const bool has_groups = files.find(TableId::groups).has_value();
  const MeanError mean_error = is_exact && has_groups ? MeanError(files.read(TableId::groups)) : MeanError();
  const PlasticityCurves curves = is_exact ? exact_curves(drawn.table, geometry, min_count_of(options), mean_error)
                                           : pooled_curves(drawn.table, geometry, min_count_of(options));
  const CurveLook look{options.alpha,           options.line_width,
                       options.curve_colors,    ColorMap(options.cmap.value_or("viridis")),
                       options.trend_threshold, min_count_of(options)};
  const char* measure = is_exact ? "Position-exact plasticity" : "Pooled plasticity";
  const FigureLabels labels{title_of(options, drawn.run, fmt::format("{} by position of the query", measure)),
                            geometry.in_tokens ? "position of the query (tokens)" : "bucket of the query",
                            is_exact ? "position-exact plasticity" : "pooled plasticity",
                            options.caption.value_or(curves_caption(
                                curves, head_text(drawn.table, curves.num_heads, drawn.all_heads),
                                is_exact ? "triples" : "pairs of keys", min_count_of(options), mean_error.is_bound()))};
  script.text = curves_script(curves, geometry, look, labels, canvas_of(options, 7, 4.5));
  return script;
}

std::string cells_figure(const FigureOptions& options, const Drawn& drawn, const CellMap& map, FigureLabels labels,
                         std::string_view measure, std::string_view counted, const std::function<double(int)>& start) {
  const Canvas canvas = canvas_of(options, 6, 5.4);
  const auto label = [&](int bin) { return token_label(start(bin)); };
  const auto end = map.first_column + static_cast<int>(map.cells.cols());
  std::size_t letters = 1;
  for (int bin = map.first_column; bin <= end; ++bin) letters = std::max(letters, label(bin).size());
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
  drawing.x_ticks = bin_ticks(map.first_column, map.cells.cols(), step, label);
  drawing.y_ticks = bin_ticks(map.first_row, map.cells.rows(), step, label);
  drawing.color_label = fmt::format("{}{}", measure, aggregate_text(options.agg, map.heads));
  if (map.has_counts) hatch_little_data(drawing, map.support, min_count_of(options));
  set_scale(drawing, options, {0, 1});
  labels.caption = options.caption.value_or(cells_caption(map.has_counts ? &map.counts : nullptr,
                                                          head_text(drawn.table, map.heads, drawn.all_heads), counted,
                                                          !drawing.hatched.empty(), map.heads, min_count_of(options)));
  return map_script(drawing, ColorMap(options.cmap.value_or("magma")), labels, canvas);
}

std::string heatmap_figure(const FigureOptions& options, const Drawn& drawn) {
  const BucketGeometry geometry = geometry_of(options, drawn.run);
  const CellMap map = bucket_map(drawn.table, options.agg);
  check_reach(geometry, map.first_row + static_cast<int>(map.cells.rows()));
  const char* unit = geometry.in_tokens ? "(tokens)" : "(bucket)";
  return cells_figure(options, drawn, map,
                      {title_of(options, drawn.run, "Pooled plasticity by position of query and keys"),
                       fmt::format("position of the keys {}", unit), fmt::format("position of the query {}", unit)},
                      "pooled plasticity", "pairs of keys", [&](int bucket) { return geometry.start(bucket); });
}

std::string distance_figure(const FigureOptions& options, const Drawn& drawn) {
  return cells_figure(options, drawn, distance_map(drawn.table, options.agg),
                      {title_of(options, drawn.run, "Position-exact plasticity by distance of the keys"),
                       "distance of the nearer key (tokens)", "distance of the farther key (tokens)"},
                      "position-exact plasticity", "triples", distance_bin_start);
}

std::string bars_figure(const FigureOptions& options, const Drawn& drawn) {
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

// The first measure of a whole model that the table has. A table without any is drawn as if it had the first one, which
// gives the message about the missing column.
std::string main_column(const HeadMetrics& metrics) {
  const auto measures = headline_measures();
  const auto found = std::ranges::find_if(measures, [&](std::string_view name) { return metrics.has(name); });
  return std::string(found == measures.end() ? measures.front() : *found);
}

FigureScript heads_figure(const FigureOptions& options, const ResultFiles& files, const Drawn& drawn) {
  FigureScript script{{}, files.notes()};
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

// The table that a figure draws. Curves are drawn from the table by time; pooled ones also from a file that has the
// cells of query and key buckets.
TableId drawn_table(const FigureOptions& options) {
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
  TableId id = drawn_table(options);
  std::vector<TableId> wanted{id};
  if (id == TableId::time) wanted.insert(wanted.end(), {TableId::buckets, TableId::groups});
  const ResultFiles files(options.table, id, wanted);
  // The Python toolkit writes no table by time. One that is there but not of this run is refused below.
  const bool has_times = files.find(id) || std::filesystem::exists(files.folder() / result_table(id).file);
  if (options.kind == FigureKind::plasticity && !has_times) id = TableId::buckets;
  CsvTable table = files.read(id);
  const std::size_t all_heads = num_heads(table);
  const Run run = files.description();
  const Drawn drawn{
      selected_rows(std::move(table), options.selection, run ? run->num_layers : 0, run ? run->num_q_heads : 0), run,
      all_heads};
  switch (options.kind) {
    case FigureKind::plasticity:
      return curves_figure(options, files, drawn);
    case FigureKind::heatmap:
      return {heatmap_figure(options, drawn), files.notes()};
    case FigureKind::components:
      return {bars_figure(options, drawn), files.notes()};
    case FigureKind::distance:
      return {distance_figure(options, drawn), files.notes()};
    default:
      return heads_figure(options, files, drawn);
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
