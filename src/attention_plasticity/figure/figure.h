#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/figure/bucket_geometry.h"
#include "attention_plasticity/figure/canvas.h"
#include "attention_plasticity/figure/figure_script.h"
#include "attention_plasticity/figure/figure_table.h"
#include "attention_plasticity/figure/gnuplot.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {

/// The figures of a run: what each shows, and of which table, is in docs/figures.md.
enum class FigureKind { plasticity, heatmap, components, distance, heads };

/// A figure as asked for. Which kinds an option means something to is said beside it; others pass over it.
struct FigureOptions {
  FigureKind kind = FigureKind::plasticity;
  std::filesystem::path table;            ///< the CSV, or the folder of a run
  std::optional<std::string> title;       ///< none: what is shown, and the model's name
  std::optional<std::string> model_name;  ///< none: from run.json beside the table
  std::optional<double> width;            ///< inches; none: as suits the kind
  std::optional<double> height;
  int dpi = 200;
  ImageFormat format = ImageFormat::png;
  FigureStyle style = FigureStyle::paper;

  double alpha = 0.25;                           ///< plasticity
  double line_width = 0.8;                       ///< plasticity
  CurveColors curve_colors = CurveColors::none;  ///< plasticity
  double trend_threshold = 1e-4;                 ///< plasticity
  std::optional<BucketType> bucket_type;         ///< plasticity, heatmap; none: from run.json, else uniform
  std::optional<double> bucket_min_size;         ///< plasticity, heatmap; none: from run.json
  std::optional<std::string> cmap;               ///< all but components; none: viridis for lines, magma for maps
  std::optional<double> vmin;                    ///< heatmap, distance, heads; none: the least value
  std::optional<double> vmax;                    ///< likewise; none: the largest value
  Aggregate agg = Aggregate::mean;               ///< heatmap, distance, components
  std::optional<std::size_t> limit;              ///< components; none: all
  std::optional<std::string> ylabel;             ///< components
  std::string column = "ap_exact";               ///< heads
};

/// The table that a figure draws.
TableId figure_table(FigureKind kind);

/// The gnuplot script of a figure. Reads its table, and run.json beside it where there is one. Throws Error(usage) for
/// options that make no figure, and Error(input) for tables that do not.
std::string figure_script(const FigureOptions& options);

struct Figure {
  std::string image;
  std::vector<std::string> notes;  ///< gnuplot's, for the user
};

/// The bytes of the image: the same for the same options, tables and gnuplot. Throws Error(output) too.
Figure draw_figure(const FigureOptions& options, const Gnuplot& gnuplot);

}  // namespace attention_plasticity
