#include "attention_plasticity/figure/figure_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attention_plasticity {
namespace {

std::string point_lines(const std::vector<CurvePoint>& points) {
  std::string lines;
  for (const CurvePoint& point : points) {
    lines += fmt::format("{} {}\n", gnuplot_number(point.position), gnuplot_number(point.plasticity));
  }
  return lines;
}

bool has_little_data(const CurvePoint& point, double min_count) { return point.support < min_count; }

// gnuplot refuses a data block without any point. This point is not drawn.
constexpr const char* no_point = "NaN NaN NaN NaN NaN NaN NaN\n";

// The mean's line. An empty line breaks it where there is little data.
std::string mean_lines(const std::vector<CurvePoint>& points, double min_count) {
  std::string lines;
  for (const CurvePoint& point : points) {
    lines += has_little_data(point, min_count) ? "\n" : point_lines({point});
  }
  return lines.find_first_not_of('\n') == std::string::npos ? no_point : lines;
}

// x, low, high of the band; an empty line where the error is unknown or there is little data.
std::string band_lines(const std::vector<CurvePoint>& points, double min_count) {
  std::string lines;
  for (const CurvePoint& point : points) {
    lines +=
        std::isnan(point.error) || has_little_data(point, min_count)
            ? "\n"
            : fmt::format("{} {} {}\n", gnuplot_number(point.position), gnuplot_number(point.plasticity - point.error),
                          gnuplot_number(point.plasticity + point.error));
  }
  return lines.find_first_not_of('\n') == std::string::npos ? no_point : lines;
}

// Heads that are drawn in one colour, and their text in the legend.
struct CurveGroup {
  std::uint32_t color;
  std::string legend;
  std::vector<const HeadCurve*> heads = {};
};

std::vector<CurveGroup> groups_by_trend(const PlasticityCurves& curves, double threshold, const Theme& theme) {
  std::vector<CurveGroup> groups{{theme.rising, "rising"}, {theme.flat, "flat"}, {theme.falling, "falling"}};
  for (const HeadCurve& head : curves.heads) {
    groups[static_cast<std::size_t>(trend_of(head, threshold))].heads.push_back(&head);
  }
  for (CurveGroup& group : groups) group.legend += fmt::format(": {}", group.heads.size());
  std::erase_if(groups, [](const CurveGroup& group) { return group.heads.empty(); });
  return groups;
}

// Layers have a colour bar instead of a legend.
std::vector<CurveGroup> groups_by_layer(const PlasticityCurves& curves, const ColorMap& colors) {
  const int last = std::max(curves.heads.back().layer, 1);
  std::vector<CurveGroup> groups;
  int layer = -1;
  for (const HeadCurve& head : curves.heads) {
    if (head.layer != layer) groups.push_back({colors.at(static_cast<double>(head.layer) / last), ""});
    layer = head.layer;
    groups.back().heads.push_back(&head);
  }
  return groups;
}

std::vector<CurveGroup> groups_of(const PlasticityCurves& curves, const CurveLook& look, const Theme& theme) {
  if (look.colors == CurveColors::trend) return groups_by_trend(curves, look.trend_threshold, theme);
  if (look.colors == CurveColors::layer) return groups_by_layer(curves, look.layer_colors);
  CurveGroup all{theme.head, "one head"};
  for (const HeadCurve& head : curves.heads) all.heads.push_back(&head);
  return {all};
}

std::string position_axis(const PlasticityCurves& curves, const BucketGeometry& geometry) {
  constexpr int most_ticks = 8;
  const std::int64_t first = curves.mean.front().bucket;
  const std::int64_t last = curves.mean.back().bucket;
  const double end = geometry.type == BucketType::log ? geometry.start(last + 1) : geometry.start(last) + geometry.size;
  std::vector<Tick> ticks;
  if (geometry.type == BucketType::log) {
    std::int64_t step = 1;
    while ((last + 1 - first) / step >= most_ticks) step *= 2;
    for (std::int64_t bucket = first; bucket <= last + 1; bucket += step) {
      ticks.push_back({geometry.start(bucket), token_label(geometry.start(bucket))});
    }
    return fmt::format("set logscale x 2\nset xrange [{}:{}]\n", geometry.start(first), end) + tick_command("x", ticks);
  }
  double step = geometry.size;
  while (end / step >= most_ticks) step *= 2;
  for (int i = 0; i * step <= end; ++i) ticks.push_back({i * step, token_label(i * step)});
  return fmt::format("set xrange [0:{}]\n", end) + tick_command("x", ticks);
}

// Plasticity lies in [0, 1]: figures of different models have this scale in common, unless values lie outside it.
std::string share_axis(const PlasticityCurves& curves) {
  double low = 0;
  double high = 1;
  for (const HeadCurve& head : curves.heads) {
    for (const CurvePoint& point : head.points) {
      low = std::min(low, point.plasticity);
      high = std::max(high, point.plasticity);
    }
  }
  return fmt::format("set yrange [{}:{}]\n", gnuplot_number(low), gnuplot_number(high));
}

// The mean with its band, drawn after what `plot` holds.
std::string mean_commands(const std::vector<CurvePoint>& mean, const CurveLook& look, const std::string& legend,
                          const Theme& theme, std::string plot) {
  std::string script;
  constexpr double band_opacity = 0.28;
  if (std::ranges::any_of(mean, [](const CurvePoint& point) { return !std::isnan(point.error); })) {
    script += fmt::format("$band << EOD\n{}EOD\n", band_lines(mean, look.min_count));
    plot += fmt::format("$band using 1:2:3 with filledcurves fillstyle solid noborder fillcolor rgb {} title {}, ",
                        gnuplot_color(theme.mean, band_opacity), gnuplot_text("± 1 standard error"));
  }
  if (std::ranges::any_of(mean, [&](const CurvePoint& point) { return has_little_data(point, look.min_count); })) {
    script += fmt::format("$little << EOD\n{}EOD\n", point_lines(mean));
    plot += fmt::format("$little with lines linewidth 1 dashtype 3 linecolor rgb {} title {}, ",
                        gnuplot_color(theme.mean), gnuplot_text("little data"));
  }
  script += fmt::format("$mean << EOD\n{}EOD\n", mean_lines(mean, look.min_count));
  return script +
         fmt::format(
             "plot {}$mean with linespoints linewidth 2.5 pointtype 7 pointsize 0.3 linecolor rgb {} title {}\n", plot,
             gnuplot_color(theme.mean), gnuplot_text(legend));
}

// Rectangles as gnuplot's boxxyerror takes them: x, y, left, right, low, high, value. Each extends a little under the
// neighbours that are drawn after it: between cells that only touch, the background would show as a line.
std::string cell_lines(const Matrix& cells) {
  constexpr double overlap = 0.05;
  std::string lines;
  for (std::size_t row = 0; row < cells.rows(); ++row) {
    for (std::size_t column = 0; column < cells.cols(); ++column) {
      const double value = cells.row(row)[column];
      if (std::isnan(value)) continue;
      const double right = column + 1 < cells.cols() && !std::isnan(cells.row(row)[column + 1]) ? overlap : 0;
      const double beyond = row + 1 < cells.rows() && !std::isnan(cells.row(row + 1)[column]) ? overlap : 0;
      lines += fmt::format("{0} {1} {0} {2} {1} {3} {4}\n", column, row, static_cast<double>(column + 1) + right,
                           static_cast<double>(row + 1) + beyond, gnuplot_number(value));
    }
  }
  return lines.empty() ? no_point : lines;
}

// Whether a cell is neither coloured nor hatched.
bool has_blanks(const MapDrawing& map) {
  const auto blanks =
      static_cast<std::size_t>(std::count_if(map.cells.data(), map.cells.data() + map.cells.rows() * map.cells.cols(),
                                             [](double value) { return std::isnan(value); }));
  return blanks > map.hatched.size();
}

// Rectangles as gnuplot's boxxyerror takes them: x, y, left, right, low, high.
std::string place_lines(const std::vector<MapPlace>& places) {
  std::string lines;
  for (const MapPlace& place : places) {
    lines += fmt::format("{0} {1} {0} {2} {1} {3}\n", place.column, place.row, place.column + 1, place.row + 1);
  }
  return lines;
}

// Bars in the margin beside marked rows; neighbouring rows share one bar.
std::string row_marks(const MapDrawing& map, const Theme& theme) {
  std::string script;
  for (std::size_t i = 0; i < map.marked_rows.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < map.marked_rows.size() && map.marked_rows[last + 1] == map.marked_rows[last] + 1) ++last;
    script += fmt::format(
        "set arrow from graph 1.012, first {} to graph 1.012, first {} nohead linewidth 3 linecolor "
        "rgb {}\n",
        static_cast<double>(map.marked_rows[i]) + 0.1, static_cast<double>(map.marked_rows[last]) + 0.9,
        gnuplot_color(theme.mark));
    i = last;
  }
  return script;
}

}  // namespace

std::string labels_commands(const FigureLabels& labels, const Canvas& canvas) {
  return title_command(labels.title, canvas) + caption_commands(labels.caption, canvas) +
         fmt::format("set xlabel {}\nset ylabel {}\n", gnuplot_text(labels.x), gnuplot_text(labels.y));
}

std::string curves_script(const PlasticityCurves& curves, const BucketGeometry& geometry, const CurveLook& look,
                          const FigureLabels& labels, const Canvas& canvas) {
  const Theme& theme = theme_of(canvas.style);
  std::string script = canvas_commands(canvas) + labels_commands(labels, canvas) + legend_commands(canvas);
  script += position_axis(curves, geometry) + share_axis(curves);
  script += fmt::format("set grid x y linetype 1 linewidth 0.4 linecolor rgb {}\n", gnuplot_color(theme.grid));
  std::string plot;
  // A single head is the mean itself, so that there is nothing to colour.
  const bool is_single = curves.num_heads == 1;
  const std::vector<CurveGroup> groups =
      is_single || curves.heads.empty() ? std::vector<CurveGroup>{} : groups_of(curves, look, theme);
  if (!groups.empty() && look.colors == CurveColors::layer) {
    const int last = std::max(curves.heads.back().layer, 1);
    script += palette_commands(look.layer_colors, 0, last, "layer", canvas, 1);
    // gnuplot shows the colour bar only if something is drawn with the palette. This point is NaN and stays invisible.
    plot += "NaN with points pointtype 7 linecolor palette notitle, ";
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const CurveGroup& group = groups[i];
    script += fmt::format("$group{} << EOD\n", i);
    for (const HeadCurve* head : group.heads) script += point_lines(head->points) + "\n";
    script += "EOD\n";
    plot += fmt::format("$group{} with lines linewidth {} linecolor rgb {} notitle, ", i, look.line_width,
                        gnuplot_color(group.color, look.alpha));
    if (group.legend.empty()) continue;
    plot += fmt::format("NaN with lines linewidth {} linecolor rgb {} title {}, ", std::max(look.line_width, 1.0),
                        gnuplot_color(group.color), gnuplot_text(group.legend));
  }
  // The legend of trends counts the heads already.
  const std::string legend = is_single                           ? "1 head"
                             : look.colors == CurveColors::trend ? "mean"
                                                                 : fmt::format("mean of {} heads", curves.num_heads);
  return script + mean_commands(curves.mean, look, legend, theme, plot);
}

std::string bars_script(const ComponentBars& bars, const FigureLabels& labels, const Canvas& canvas) {
  const Theme& theme = theme_of(canvas.style);
  std::string script = canvas_commands(canvas) + labels_commands(labels, canvas);
  script += fmt::format("set grid y linetype 1 linewidth 0.4 linecolor rgb {}\n", gnuplot_color(theme.grid));
  script += fmt::format("set boxwidth 0.8\nset xrange [-0.7:{}]\nset yrange [0:*]\n",
                        static_cast<double>(bars.shares.size()) - 0.3);
  script += "$bars << EOD\n";
  for (std::size_t component = 0; component < bars.shares.size(); ++component) {
    if (!std::isnan(bars.shares[component])) {
      script += fmt::format("{} {}\n", component, gnuplot_number(bars.shares[component]));
    }
  }
  return script + fmt::format("EOD\nplot $bars with boxes fillstyle solid noborder fillcolor rgb {}\n",
                              gnuplot_color(theme.head));
}

std::string curve_pair_script(const CurvePair& pair, const BucketGeometry& geometry, double min_count,
                              const FigureLabels& labels, const Canvas& canvas) {
  const Theme& theme = theme_of(canvas.style);
  // Both panels are as wide, one above the other.
  const auto panel = [&](double bottom, double top) {
    return fmt::format(
        "set lmargin at screen {:.4g}\nset rmargin at screen {:.4g}\nset bmargin at screen {:.4g}\nset tmargin at "
        "screen {:.4g}\n",
        0.8 / canvas.width, 1 - 0.25 / canvas.width, bottom, top);
  };
  const double low_bottom = 1.06 / canvas.height;
  const double low_top = low_bottom + 0.36 * (1 - low_bottom);
  std::string script = canvas_commands(canvas) + legend_commands(canvas) +
                       labels_commands({labels.title, "", labels.y, labels.caption}, canvas);
  script += position_axis({{}, pair.a, 0}, geometry) + "set yrange [0:1]\n";
  script += fmt::format("set grid x y linetype 1 linewidth 0.4 linecolor rgb {}\n", gnuplot_color(theme.grid));
  std::string plot;
  const auto add = [&](std::string_view name, const std::vector<CurvePoint>& line, std::uint32_t color,
                       const std::string& legend) {
    constexpr double band_opacity = 0.28;
    script += fmt::format("${0}_band << EOD\n{1}EOD\n${0} << EOD\n{2}EOD\n", name, band_lines(line, min_count),
                          mean_lines(line, min_count));
    plot += fmt::format(
        "{0}${1}_band using 1:2:3 with filledcurves fillstyle solid noborder fillcolor rgb {2} notitle, "
        "${1} with linespoints linewidth 2.5 pointtype 7 pointsize 0.3 linecolor rgb {3} title {4}",
        plot.empty() ? "" : ", ", name, gnuplot_color(color, band_opacity), gnuplot_color(color), gnuplot_text(legend));
  };
  add("first", pair.a, theme.head, pair.name_a);
  add("second", pair.b, theme.mean, pair.name_b);
  script += "set multiplot\n" + panel(low_top + 0.07, 1 - 0.42 / canvas.height) + "plot " + plot + "\n";
  plot.clear();
  double most = 0.01;
  for (const CurvePoint& point : pair.difference) {
    if (has_little_data(point, min_count)) continue;
    most = std::max(most, std::abs(point.plasticity) + (std::isnan(point.error) ? 0 : point.error));
  }
  script += fmt::format("unset key\nunset title\nunset label 1\nset xlabel {}\nset ylabel {}\n", gnuplot_text(labels.x),
                        gnuplot_text("difference"));
  script += position_axis({{}, pair.a, 0}, geometry);
  script += tick_command("y", value_ticks(-most, most)) + fmt::format("set yrange [{0}:{1}]\n", -most, most);
  plot = fmt::format("0 with lines linewidth 1 dashtype 2 linecolor rgb {} notitle", gnuplot_color(theme.faint));
  add("difference", pair.difference, theme.text, "difference");
  return script + panel(low_bottom, low_top) + "plot " + plot + "\nunset multiplot\n";
}

std::string map_script(const MapDrawing& map, const ColorMap& colors, const FigureLabels& labels,
                       const Canvas& canvas) {
  return canvas_commands(canvas) + map_commands(map, colors, labels, canvas);
}

std::string map_commands(const MapDrawing& map, const ColorMap& colors, const FigureLabels& labels,
                         const Canvas& canvas) {
  const Theme& theme = theme_of(canvas.style);
  const std::size_t rows = map.cells.rows();
  const std::size_t columns = map.cells.cols();
  std::string script = labels_commands(labels, canvas);
  script += palette_commands(colors, map.low, map.high, map.color_label, canvas, 0, map.panels);
  script += tick_command("x", map.x_ticks) + tick_command("y", map.y_ticks);
  script += fmt::format("set xrange [0:{}]\n", columns);
  script += map.first_row_on_top ? fmt::format("set yrange [{}:0]\n", rows) : fmt::format("set yrange [0:{}]\n", rows);
  if (map.square_cells) {
    script += fmt::format("set size ratio {:.6g}\n", static_cast<double>(rows) / static_cast<double>(columns));
  }
  std::string legend;
  if (!map.blank_note.empty() && has_blanks(map)) {
    script += fmt::format("set object 1 rectangle from 0,0 to {},{} behind fillstyle solid noborder fillcolor rgb {}\n",
                          columns, rows, gnuplot_color(theme.blank));
    legend += fmt::format(", NaN with boxes fillstyle solid noborder fillcolor rgb {} title {}",
                          gnuplot_color(theme.blank), gnuplot_text(map.blank_note));
  }
  if (!map.hatched.empty()) {
    script += fmt::format("$hatched << EOD\n{}EOD\n", place_lines(map.hatched));
    legend += fmt::format(
        ", $hatched using 1:2:3:4:5:6 with boxxyerror fillstyle solid noborder fillcolor rgb {0} notitle"
        ", $hatched using 1:2:3:4:5:6 with boxxyerror fillstyle transparent pattern 4 border linecolor rgb {1} "
        "fillcolor rgb {1} linewidth 0.4 notitle"
        ", NaN with boxes fillstyle transparent pattern 4 border linecolor rgb {1} fillcolor rgb {1} linewidth 0.4 "
        "title {2}",
        gnuplot_color(theme.background), gnuplot_color(theme.faint), gnuplot_text(map.hatch_note));
  }
  if (!map.faded.empty()) {
    script += fmt::format("$faded << EOD\n{}EOD\n", place_lines(map.faded));
    legend += fmt::format(
        ", $faded using 1:2:3:4:5:6 with boxxyerror fillstyle transparent solid 0.65 noborder fillcolor rgb {} notitle",
        gnuplot_color(theme.background));
  }
  if (!map.marked_rows.empty()) {
    script += row_marks(map, theme);
    legend += fmt::format(", NaN with lines linewidth 3 linecolor rgb {} title {}", gnuplot_color(theme.mark),
                          gnuplot_text(map.mark_note));
  }
  if (legend.find(" title ") != std::string::npos) script += legend_commands(canvas);
  return script + fmt::format(
                      "$cells << EOD\n{}EOD\nplot $cells using 1:2:3:4:5:6:7 with boxxyerror fillstyle solid "
                      "noborder fillcolor palette notitle{}\n",
                      cell_lines(map.cells), legend);
}

}  // namespace attention_plasticity
