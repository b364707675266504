#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/figure/bucket_geometry.h"
#include "attention_plasticity/figure/canvas.h"
#include "attention_plasticity/figure/cell_map.h"
#include "attention_plasticity/figure/figure_script.h"
#include "attention_plasticity/figure/figure_table.h"
#include "attention_plasticity/figure/gnuplot.h"
#include "attention_plasticity/figure/head_map.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {

/// The figures of a run, and the last three of a comparison of runs. docs/figures.md says what each shows and which
/// table it draws.
enum class FigureKind { plasticity, heatmap, components, distance, heads, changes, change_map, series };

/// A figure as the user asks for it. The comment of an option names the kinds that use it; other kinds ignore it.
struct FigureOptions {
  FigureKind kind = FigureKind::plasticity;
  std::filesystem::path table;            ///< the CSV, or the folder of a run
  HeadSelection selection;                ///< the heads to draw
  std::size_t min_count = 30;             ///< pairs, triples or queries below which a value is little data
  std::optional<std::string> title;       ///< none: what is shown, and the model's name
  std::optional<std::string> caption;     ///< none: the number of heads and the counts
  std::optional<std::string> model_name;  ///< none: from run.json beside the table
  std::optional<double> width;            ///< inches; none: depends on the kind
  std::optional<double> height;
  int dpi = 200;
  ImageFormat format = ImageFormat::png;
  FigureStyle style = FigureStyle::paper;

  std::optional<std::filesystem::path>
      against;              ///< plasticity, distance: a second run; the difference is drawn as well
  bool pooled = false;      ///< plasticity: the pooled curve even where the exact one is known
  double alpha = 0.25;      ///< plasticity
  double line_width = 0.8;  ///< plasticity
  CurveColors curve_colors = CurveColors::none;  ///< plasticity
  double trend_threshold = 1e-4;                 ///< plasticity
  std::optional<BucketType> bucket_type;         ///< plasticity, heatmap; none: from run.json, else uniform
  std::optional<double> bucket_min_size;         ///< plasticity, heatmap; none: from run.json
  std::optional<std::string> cmap;               ///< all but components; none: viridis for lines, magma for maps
  std::optional<double> vmin;                    ///< heatmap, distance, heads; none: the least value that is coloured
  std::optional<double> vmax;                    ///< heatmap, distance, heads; none: the largest one
  Aggregate agg = Aggregate::mean;               ///< heatmap, distance, components
  std::optional<std::size_t> limit;              ///< components; none: all
  std::optional<std::string> ylabel;             ///< components
  std::optional<std::string> column;             ///< heads, comparisons; none: the first headline measure
};

struct FigureScript {
  std::string text;                ///< for gnuplot
  std::vector<std::string> notes;  ///< for the user
};

/// A canvas of the size in inches that the options ask for, or else of this one.
Canvas canvas_of(const FigureOptions& options, double width, double height);
/// The canvas of a map of heads, and the map with the ticks of its layers and heads; its colours are still to be set.
Canvas head_map_canvas(const FigureOptions& options, const HeadMap& map);
MapDrawing head_map_drawing(const HeadMap& map, const Canvas& canvas);

/// A map of square cells with ticks at the starts of its buckets or bins, where `label` gives the text of a tick; its
/// colours are still to be set.
MapDrawing cell_map_drawing(const CellMap& map, const Canvas& canvas,
                            const std::function<std::string(std::int64_t)>& label);

/// Hatches the cells whose count is below min_count.
void hatch_little_data(MapDrawing& map, const Matrix& counts, double min_count);

/// The script of a figure. Reads the table, and run.json beside it if it exists. Throws Error(usage) for options that
/// cannot be drawn, and Error(input) for tables that cannot be drawn.
FigureScript figure_script(const FigureOptions& options);

struct Figure {
  std::string image;
  std::vector<std::string> notes;  ///< those of the script and gnuplot's warnings, for the user
};

/// Draws a figure. The same options, tables and gnuplot give the same bytes. Throws what figure_script throws, and
/// Error(output) when gnuplot fails.
Figure draw_figure(const FigureOptions& options, const Gnuplot& gnuplot);

}  // namespace attention_plasticity
