#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/figure/canvas.h"
#include "attention_plasticity/figure/color_map.h"
#include "attention_plasticity/figure/component_bars.h"
#include "attention_plasticity/figure/gnuplot_script.h"
#include "attention_plasticity/figure/plasticity_curves.h"

// Turns the data of a figure into the gnuplot script that draws it. Nothing is read or run here.

namespace attention_plasticity {

struct FigureLabels {
  std::string title;
  std::string x;
  std::string y;
  std::string caption = {};  ///< a line at the bottom; empty: none
};

enum class CurveColors { none, layer, trend };

struct CurveLook {
  double alpha = 0.25;  ///< opacity of the heads' lines, in (0, 1]
  double line_width = 0.8;
  CurveColors colors = CurveColors::none;
  ColorMap layer_colors{"viridis"};
  double trend_threshold = 1e-4;  ///< slope per token, see trend_of
  double min_count = 0;           ///< the mean is dotted where its support is below this count
};

/// The script for curves: a thin line for every head, a bold one for their mean with a band of one standard error to
/// either side, where errors are known. A single head has the bold line alone.
std::string curves_script(const PlasticityCurves& curves, const BucketGeometry& geometry, const CurveLook& look,
                          const FigureLabels& labels, const Canvas& canvas);

/// Sets the title, caption and axis labels.
std::string labels_commands(const FigureLabels& labels, const Canvas& canvas);

/// The script for bars: one for every component that has a share.
std::string bars_script(const ComponentBars& bars, const FigureLabels& labels, const Canvas& canvas);

struct MapPlace {
  std::size_t row = 0;
  std::size_t column = 0;
};

/// A map of coloured cells. Cell (row, column) spans column to column + 1 and row to row + 1 of the axes.
struct MapDrawing {
  Matrix cells;                   ///< NaN: blank or hatched
  bool first_row_on_top = false;  ///< otherwise at the bottom
  bool square_cells = false;
  int panels = 1;  ///< maps of the same size, side by side, of which this is one
  std::vector<Tick> x_ticks;
  std::vector<Tick> y_ticks;
  std::string color_label;
  double low = 0;                        ///< value of the first colour, below high
  double high = 1;                       ///< value of the last colour
  std::string blank_note;                ///< meaning of blank cells, which are then shaded; empty: no shade, no note
  std::vector<MapPlace> hatched;         ///< cells with little data
  std::string hatch_note;                ///< meaning of hatched cells
  std::vector<MapPlace> faded;           ///< cells whose colour is paler
  std::vector<std::size_t> marked_rows;  ///< ascending
  std::string mark_note;
};

/// The curves of two runs and their difference, each a mean over the same heads.
struct CurvePair {
  std::string name_a;
  std::string name_b;
  std::vector<CurvePoint> a;
  std::vector<CurvePoint> b;
  std::vector<CurvePoint> difference;  ///< b - a, in buckets that both have
};

/// The script for the curves of two runs: both above, each with its band, and below them their difference with its band
/// and a line at zero.
std::string curve_pair_script(const CurvePair& pair, const BucketGeometry& geometry, double min_count,
                              const FigureLabels& labels, const Canvas& canvas);

/// As map_script, without what canvas_commands sets: for one of several maps in a figure.
std::string map_commands(const MapDrawing& map, const ColorMap& colors, const FigureLabels& labels,
                         const Canvas& canvas);

std::string map_script(const MapDrawing& map, const ColorMap& colors, const FigureLabels& labels, const Canvas& canvas);

}  // namespace attention_plasticity
