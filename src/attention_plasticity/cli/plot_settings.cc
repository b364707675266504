#include "attention_plasticity/cli/plot_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "attention_plasticity/error.h"
#include "attention_plasticity/figure/image_file.h"
#include "attention_plasticity/results/result_files.h"

namespace attention_plasticity {
namespace {

constexpr std::array<std::string_view, 8> kinds{"plasticity", "heatmap", "components", "distance",
                                                "heads",      "changes", "change_map", "series"};

// What the fields set, before it becomes a PlotRequest.
struct PlotSettings {
  FigureOptions figure;
  std::optional<std::string> output;
  bool color_by_layer = false;
  bool color_trend = false;
};

ValueKind<double> inches() {
  return values::checked(values::positive_number(), [](double value) {
    if (value >= 1 && value <= 100) return;
    throw Error(ErrorKind::usage, fmt::format("{} is out of range; it must lie between 1 and 100 inches", value));
  });
}

ValueKind<std::string> color_map() {
  return values::checked(values::text(), [](const std::string& name) { const ColorMap known(name); });
}

ValueKind<std::string> image_file() {
  return values::checked(values::text(), [](const std::string& file) { format_of(file); });
}

const FieldTable<PlotSettings>& plot_table() {
  using Settings = PlotSettings;
  using Options = FigureOptions;
  const auto figure = [](auto member) { return nested(&Settings::figure, member); };
  const auto selection = [&](auto member) {
    return [member](auto& settings) -> auto& { return settings.figure.selection.*member; };
  };
  const char* lines = "plasticity";
  const char* maps = "heatmap distance heads change_map";
  const char* buckets = "plasticity heatmap";
  const char* from_run = "as run.json says";
  static const FieldTable<PlotSettings> table{
      {"results", values::text(), figure(&Options::table),
       "The folder of a run or of a comparison, or the table to draw; the same as the argument RESULTS.", "none"},
      {"time_csv", values::text(), figure(&Options::table), "head_time_plasticity.csv of a run, or its folder.", "none",
       lines},
      {"bucket_csv", values::text(), figure(&Options::table),
       "head_bucket_plasticity.csv of a run, or its folder. Curves of the file itself are pooled.", "none", buckets},
      {"component_csv", values::text(), figure(&Options::table), "head_component_weights.csv of a run, or its folder.",
       "none", "components"},
      {"distance_csv", values::text(), figure(&Options::table), "head_distance_plasticity.csv of a run, or its folder.",
       "none", "distance"},
      {"metrics", values::text(), figure(&Options::table), "head_metrics.csv of a run, or its folder.", "none",
       "heads"},
      {"against", values::text(), figure(&Options::against),
       "The folder of a second run: both runs are drawn, and the second less the first.", "none",
       "plasticity distance"},
      {"output", image_file(), &Settings::output, "Image file; its ending sets the format: .png, .svg or .pdf.",
       "beside the table"},
      {"layers", values::indices(), selection(&HeadSelection::layers), "Layers to draw, such as 0-3,7.", "all"},
      {"heads", values::indices(), selection(&HeadSelection::heads),
       "Query heads to draw in each layer, such as 0-3,7.", "all"},
      {"min_count", values::count(0), figure(&Options::min_count),
       "Pairs, triples or queries below which a value is shown as little data and sets no colour.", "",
       "plasticity heatmap distance heads"},
      {"pooled", values::boolean(), figure(&Options::pooled),
       "Draw pooled plasticity, also where the position-exact one is known.", "", lines},
      {"column", values::text(), figure(&Options::column), "Column of the metrics to show.",
       "ap_exact; ap_overall without it", "heads changes change_map series"},
      {"agg", values::word({"mean", "median"}), figure(&Options::agg), "How the values of many heads become one.", "",
       "heatmap components distance"},
      {"limit", values::integer(1, 10'000), figure(&Options::limit), "Number of components to show, from the first on.",
       "all", "components"},
      {"bucket_type", values::word({"uniform", "log"}), figure(&Options::bucket_type),
       "Spacing of the position buckets.", from_run, buckets},
      {"bucket_min_size", values::positive_number(), figure(&Options::bucket_min_size),
       "Tokens of a uniform bucket, or of the first log bucket.", from_run, buckets},
      {"alpha", values::share(true), figure(&Options::alpha), "Opacity of a head's line, at most 1.", "",
       "plasticity series"},
      {"line_width", values::positive_number(), figure(&Options::line_width), "Width of a head's line in points.", "",
       "plasticity series"},
      {"color_by_layer", values::boolean(), &Settings::color_by_layer, "Colour a head's line by its layer.", "", lines},
      {"color_trend", values::boolean(), &Settings::color_trend,
       "Colour a head's line by its trend: green rises, red falls, gray does neither.", "", lines},
      {"trend_threshold", values::positive_number(), figure(&Options::trend_threshold),
       "Slope per token above which a line rises; below its negative, a line falls.", "", lines},
      {"cmap", color_map(), figure(&Options::cmap),
       "Colour map: viridis, magma, inferno, plasma, cividis, gray, blue_red; each also reversed, as viridis_r.",
       "viridis; magma for heatmap and distance; blue_red for change_map",
       "plasticity heatmap distance heads change_map"},
      {"vmin", values::number(), figure(&Options::vmin), "Value of the first colour.", "the least value", maps},
      {"vmax", values::number(), figure(&Options::vmax), "Value of the last colour.", "the largest value", maps},
      {"title", values::text_or_empty(), figure(&Options::title), "Replaces the whole title.",
       "what is shown, and the model"},
      {"caption", values::text_or_empty(), figure(&Options::caption), "Replaces the line below the figure.",
       "the heads and counts"},
      {"model_name", values::text(), figure(&Options::model_name), "The model's name in the title.", from_run},
      {"ylabel", values::text_or_empty(), figure(&Options::ylabel), "Label of the vertical axis.", "share",
       "components"},
      {"width", inches(), figure(&Options::width), "Width in inches.", "by figure"},
      {"height", inches(), figure(&Options::height), "Height in inches.", "by figure"},
      {"dpi", values::integer(20, 1200), figure(&Options::dpi), "Pixels per inch of a PNG."},
      {"style", values::word({"paper", "screen"}), figure(&Options::style), "Black on white, or light on dark."},
  };
  return table;
}

FigureKind kind_of(const Arguments& arguments) {
  const std::size_t words = arguments.positionals.size();
  if (words == 1 || words == 2) return static_cast<FigureKind>(word_index(arguments.positionals.front(), kinds));
  throw Error(ErrorKind::usage,
              fmt::format("plot takes a figure, and the folder of a run or a table of it: plot {} RESULTS",
                          fmt::join(kinds, "|")));
}

// The flags that name a table.
bool names_table(const Setting& flag) {
  constexpr std::array<std::string_view, 6> names{"results",       "time_csv",     "bucket_csv",
                                                  "component_csv", "distance_csv", "metrics"};
  return flag.value.has_value() && std::ranges::find(names, flag.field) != names.end();
}

// The argument RESULTS wins over a configuration file; beside a flag it would be ambiguous.
void take_results(const Arguments& arguments, PlotSettings& settings) {
  if (arguments.positionals.size() < 2) return;
  const auto flag = std::ranges::find_if(arguments.flags, names_table);
  if (flag != arguments.flags.end()) {
    throw Error(ErrorKind::usage, fmt::format("the results are given twice: as {} and as --{}",
                                              arguments.positionals.back(), flag->field));
  }
  settings.figure.table = arguments.positionals.back();
}

}  // namespace

std::span<const std::string_view> figure_words() { return kinds; }

const std::vector<Field>& plot_fields() {
  static const std::vector<Field> fields = descriptions(plot_table());
  return fields;
}

PlotRequest plot_request(const Arguments& arguments) {
  const FigureKind kind = kind_of(arguments);
  const std::string_view figure = kinds[static_cast<std::size_t>(kind)];
  const std::vector<Setting> given = configured_settings(arguments, plot_fields());
  check_scope(given, plot_fields(), figure, fmt::format("plot {}", figure));
  PlotSettings settings = resolve(plot_table(), given);
  if (settings.color_by_layer && settings.color_trend) {
    throw Error(ErrorKind::usage, "color_by_layer and color_trend exclude each other: a line has one colour");
  }
  if (settings.color_by_layer) settings.figure.curve_colors = CurveColors::layer;
  if (settings.color_trend) settings.figure.curve_colors = CurveColors::trend;
  settings.figure.kind = kind;
  take_results(arguments, settings);
  if (settings.figure.table.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("plot {0} needs the results of a run: plot {0} RESULTS, where RESULTS is the folder that "
                            "analyze wrote to",
                            figure));
  }
  const std::filesystem::path beside = results_folder(settings.figure.table) / fmt::format("{}.png", figure);
  if (settings.output) settings.figure.format = format_of(*settings.output);
  return {settings.figure, settings.output.value_or(beside.string())};
}

}  // namespace attention_plasticity
