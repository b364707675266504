#include "attention_plasticity/figure/comparison_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/figure/captions.h"
#include "attention_plasticity/figure/head_map.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/head_tables.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// What is said below a figure of differences, and in its title.
struct Compared {
  CsvTable table;  // the rows of one column and of the selected heads
  std::string column;
  std::string model;  // empty: unknown
  double level = 0.05;
  std::string x = "run";             // what orders a series
  std::vector<double> model_values;  // of a series: the mean over heads, by run
  std::vector<double> model_errors;
};

// The file of this name beside the table, as JSON; none when there is none.
std::optional<nlohmann::json> summary_beside(const fs::path& table, const char* name) {
  const fs::path file = table.parent_path() / name;
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return std::nullopt;
  return parse_json_object(read_text_file(file, most_record_bytes), {.file = file.string()});
}

double number_or_nan(const nlohmann::json& object, const char* key) {
  const nlohmann::json* value = find_field(object, key);
  return value != nullptr && value->is_number() ? value->get<double>() : std::nan("");
}

std::string text_in(const nlohmann::json* object, const char* key) {
  const nlohmann::json* value = object == nullptr ? nullptr : find_field(*object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::size_t place(const CsvTable& table, std::string_view column) {
  if (const auto found = table.find(column)) return *found;
  throw Error(ErrorKind::input, fmt::format("has no column {}; `attention-plasticity compare` writes it", column),
              table.file);
}

// The rows of the wanted column; without a wish those of the first.
void keep_column(Compared& compared, const std::optional<std::string>& wanted) {
  const std::size_t column = place(compared.table, "column");
  if (compared.table.rows.empty()) throw Error(ErrorKind::input, "has a header and no heads", compared.table.file);
  compared.column = wanted.value_or(compared.table.rows.front()[column]);
  CsvTable kept{compared.table.columns, {}, {}, compared.table.file};
  for (std::size_t row = 0; row < compared.table.rows.size(); ++row) {
    if (compared.table.rows[row][column] != compared.column) continue;
    kept.rows.push_back(compared.table.rows[row]);
    kept.lines.push_back(compared.table.lines[row]);
  }
  if (kept.rows.empty()) {
    throw Error(ErrorKind::usage, fmt::format("{} has no differences of {}", compared.table.file, compared.column));
  }
  compared.table = std::move(kept);
}

Compared read_compared(const FigureOptions& options, const char* table, const char* summary) {
  std::error_code unknown;
  const fs::path file = fs::is_directory(options.table, unknown) ? options.table / table : options.table;
  Compared compared;
  compared.table = read_csv(file);
  keep_column(compared, options.column);
  compared.table = selected_rows(std::move(compared.table), options.selection);
  const auto json = summary_beside(file, summary);
  if (!json) return compared;
  if (const double level = number_or_nan(*json, "level"); !std::isnan(level)) compared.level = level;
  if (const nlohmann::json* runs = find_field(*json, "runs"); runs != nullptr && runs->is_array() && !runs->empty()) {
    compared.model = text_in(&runs->back(), "model");
    compared.x = text_in(&*json, "x");
  } else {
    compared.model = text_in(find_field(*json, "b"), "model");
  }
  const nlohmann::json* columns = find_field(*json, "columns");
  if (columns == nullptr || !columns->is_array()) return compared;
  for (const nlohmann::json& column : *columns) {
    const nlohmann::json* runs = find_field(column, "runs");
    if (text_in(&column, "column") != compared.column || runs == nullptr || !runs->is_array()) continue;
    for (const nlohmann::json& run : *runs) {
      compared.model_values.push_back(number_or_nan(run, "mean"));
      compared.model_errors.push_back(number_or_nan(run, "se"));
    }
  }
  return compared;
}

std::string title_of(const FigureOptions& options, const Compared& compared, const std::string& what) {
  if (options.title) return *options.title;
  const std::string model = options.model_name.value_or(compared.model);
  return model.empty() ? what : fmt::format("{} — {}", what, model);
}

struct Range {
  double low = 0;
  double high = 1;
};

// From the least to the largest value with a little room; [0, 1] where the values lie in it.
Range axis_range(const std::vector<double>& values) {
  Range range;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

std::string moved_caption(const Compared& compared, std::size_t heads, std::size_t moved) {
  return fmt::format("{} of {} heads moved (q < {})", moved, heads, compared.level);
}

// Heads of one look: those that moved up, down, or not.
struct PointGroup {
  std::uint32_t color;
  std::string legend;
  double opacity;
  std::string lines;
  std::size_t count = 0;
};

std::string changes_figure(const FigureOptions& options, const Compared& compared) {
  const CsvTable& table = compared.table;
  const std::size_t a = place(table, "a");
  const std::size_t b = place(table, "b");
  const std::size_t se = place(table, "se");
  const std::size_t q = place(table, "q");
  const Canvas canvas = canvas_of(options, 5, 5.2);
  const Theme& theme = theme_of(canvas.style);
  std::vector<PointGroup> groups{
      {theme.flat, "not moved", 0.6, ""}, {theme.rising, "up", 1, ""}, {theme.falling, "down", 1, ""}};
  std::vector<double> values;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const double x = table.number(row, a);
    const double y = table.number(row, b);
    if (std::isnan(x) || std::isnan(y)) continue;
    const double error = table.number(row, se);
    const bool moved = table.number(row, q) < compared.level;
    PointGroup& group = groups[!moved ? 0 : y > x ? 1 : 2];
    group.lines +=
        fmt::format("{} {} {}\n", gnuplot_number(x), gnuplot_number(y), gnuplot_number(std::isnan(error) ? 0 : error));
    ++group.count;
    values.insert(values.end(), {x, y});
  }
  if (values.empty()) throw Error(ErrorKind::input, "has no head with a value in both runs", table.file);
  const Range range = axis_range(values);
  const std::size_t moved = groups[1].count + groups[2].count;
  const FigureLabels labels{title_of(options, compared, fmt::format("{} in two runs", compared.column)),
                            fmt::format("{} in the first run", compared.column),
                            fmt::format("{} in the second run", compared.column),
                            options.caption.value_or(moved_caption(compared, values.size() / 2, moved) +
                                                     "; bars: one standard error of the difference")};
  std::string script = canvas_commands(canvas) + labels_commands(labels, canvas) + legend_commands(canvas);
  script += fmt::format("set size ratio 1\nset xrange [{0}:{1}]\nset yrange [{0}:{1}]\n", gnuplot_number(range.low),
                        gnuplot_number(range.high));
  script += fmt::format("set grid x y linetype 1 linewidth 0.4 linecolor rgb {}\n", gnuplot_color(theme.grid));
  std::string plot = fmt::format("plot x with lines linewidth 1 dashtype 2 linecolor rgb {} title {}",
                                 gnuplot_color(theme.faint), gnuplot_text("equal"));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const PointGroup& group = groups[i];
    if (group.count == 0) continue;
    script += fmt::format("$group{} << EOD\n{}EOD\n", i, group.lines);
    plot += fmt::format(
        ", $group{} using 1:2:3 with yerrorbars pointtype 7 pointsize 0.4 linewidth 0.7 linecolor rgb {} "
        "title {}",
        i, gnuplot_color(group.color, group.opacity), gnuplot_text(fmt::format("{}: {}", group.legend, group.count)));
  }
  return script + plot + "\n";
}

std::string change_map_figure(const FigureOptions& options, const Compared& compared) {
  const HeadMetrics differences(compared.table);
  const HeadMap map = head_map(differences, "difference", std::nullopt, options.selection);
  const std::vector<double> q = differences.values("q");
  double largest = 0;
  for (const double value : differences.values("difference")) {
    if (!std::isnan(value)) largest = std::max(largest, std::abs(value));
  }
  const Canvas canvas = head_map_canvas(options, map);
  MapDrawing drawing = head_map_drawing(map, canvas);
  drawing.color_label = fmt::format("difference of {}", compared.column);
  // Zero has the colour in the middle.
  drawing.high = options.vmax.value_or(largest > 0 ? largest : 1);
  drawing.low = options.vmin.value_or(-drawing.high);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < differences.heads().size(); ++i) {
    const HeadId& head = differences.heads()[i];
    if (q[i] < compared.level) {
      ++moved;
      continue;
    }
    const auto row = static_cast<std::size_t>(std::ranges::lower_bound(map.layers, head.layer) - map.layers.begin());
    const auto column = static_cast<std::size_t>(std::ranges::lower_bound(map.heads, head.q_head) - map.heads.begin());
    drawing.faded.push_back({row, column});
  }
  return map_script(
      drawing, ColorMap(options.cmap.value_or("blue_red")),
      {title_of(options, compared, fmt::format("Difference of {} by head", compared.column)), "query head", "layer",
       options.caption.value_or(moved_caption(compared, differences.heads().size(), moved) + "; the others are paler")},
      canvas);
}

std::string series_figure(const FigureOptions& options, const Compared& compared) {
  const CsvTable& table = compared.table;
  const std::size_t x = place(table, "x");
  const std::size_t value = place(table, "value");
  const Canvas canvas = canvas_of(options, 7, 4.5);
  const Theme& theme = theme_of(canvas.style);
  std::map<std::pair<int, int>, std::string> heads;
  std::map<double, std::size_t> runs;  // by x
  std::vector<double> values;
  const std::size_t layer = place(table, "layer");
  const std::size_t q_head = place(table, "q_head");
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const double at = table.number(row, x);
    runs.emplace(at, 0);
    values.push_back(table.number(row, value));
    heads[{table.index(row, layer), table.index(row, q_head)}] +=
        fmt::format("{} {}\n", gnuplot_number(at), gnuplot_number(values.back()));
  }
  const bool all_heads = options.selection.layers.empty() && options.selection.heads.empty();
  const bool has_mean = all_heads && compared.model_values.size() == runs.size();
  const Range range = axis_range(values);
  const FigureLabels labels{
      title_of(options, compared, fmt::format("{} over {}", compared.column, compared.x)), compared.x, compared.column,
      options.caption.value_or(fmt::format("{} heads{}", heads.size(),
                                           has_mean ? "; band: one standard error of the mean to either side" : ""))};
  std::string script = canvas_commands(canvas) + labels_commands(labels, canvas) + legend_commands(canvas);
  script += fmt::format("set xrange [{}:{}]\nset yrange [{}:{}]\n", gnuplot_number(runs.begin()->first),
                        gnuplot_number(runs.rbegin()->first), gnuplot_number(range.low), gnuplot_number(range.high));
  script += fmt::format("set grid x y linetype 1 linewidth 0.4 linecolor rgb {}\n", gnuplot_color(theme.grid));
  script += "$heads << EOD\n";
  for (const auto& [head, lines] : heads) script += lines + "\n";
  script += "EOD\n";
  std::string plot = fmt::format("$heads with lines linewidth {} linecolor rgb {} title {}", options.line_width,
                                 gnuplot_color(theme.head, heads.size() > 1 ? options.alpha : 1),
                                 gnuplot_text(heads.size() > 1 ? "one head" : "head"));
  if (has_mean) {
    std::string lines;
    std::size_t run = 0;
    for (const auto& [at, unused] : runs) {
      const double error = std::isnan(compared.model_errors[run]) ? 0 : compared.model_errors[run];
      const double mean = compared.model_values[run++];
      lines += fmt::format("{} {} {} {}\n", gnuplot_number(at), gnuplot_number(mean), gnuplot_number(mean - error),
                           gnuplot_number(mean + error));
    }
    script += fmt::format("$mean << EOD\n{}EOD\n", lines);
    plot += fmt::format(
        ", $mean using 1:3:4 with filledcurves fillstyle solid noborder fillcolor rgb {} notitle"
        ", $mean using 1:2 with linespoints linewidth 2.5 pointtype 7 pointsize 0.3 linecolor rgb {} title {}",
        gnuplot_color(theme.mean, 0.25), gnuplot_color(theme.mean),
        gnuplot_text(fmt::format("mean of {} heads", heads.size())));
  }
  return script + "plot " + plot + "\n";
}

}  // namespace

FigureScript comparison_figure(const FigureOptions& options) {
  switch (options.kind) {
    case FigureKind::changes:
      return {changes_figure(options, read_compared(options, "head_differences.csv", "comparison.json")), {}};
    case FigureKind::change_map:
      return {change_map_figure(options, read_compared(options, "head_differences.csv", "comparison.json")), {}};
    default:
      return {series_figure(options, read_compared(options, "head_series.csv", "series.json")), {}};
  }
}

}  // namespace attention_plasticity
