#include "attention_plasticity/cli/plot_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <vector>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/figure/image_file.h"
#include "attention_plasticity/run/config_value.h"
#include "attention_plasticity/run/config_yaml.h"

namespace attention_plasticity {
namespace {

constexpr std::array<std::string_view, 5> kinds{"plasticity", "heatmap", "components", "distance", "heads"};
constexpr std::string_view every_kind = "plasticity heatmap components distance heads";
constexpr std::string_view maps = "heatmap distance heads";

// The options as they come in, beside those that become something else in the end.
struct PlotSettings {
  FigureOptions figure;
  std::optional<std::string> output;
  bool color_by_layer = false;
  bool color_trend = false;
};

double inches(const std::string& text) {
  const double value = config_positive_number(text);
  if (value >= 1 && value <= 100) return value;
  throw Error(ErrorKind::usage,
              fmt::format("{} is out of range; it must lie between 1 and 100 inches", shown_text(text)));
}

std::string color_map_name(const std::string& text) {
  const ColorMap known(text);
  return text;
}

void set_table(PlotSettings& settings, const std::string& text) {
  settings.figure.table = config_plain_text(text, false);
}

constexpr std::array<std::string_view, 2> bucket_type_words{"uniform", "log"};
constexpr std::array<std::string_view, 2> aggregate_words{"mean", "median"};
constexpr std::array<std::string_view, 2> style_words{"paper", "screen"};

struct PlotField {
  ConfigField field;
  std::string_view figures;  // that it means something to
  void (*set)(PlotSettings& settings, const std::string& text);
};

constexpr const char* from_run = "as run.json says";

constexpr std::array fields_of_plots{
    PlotField{{"bucket_csv", "text", "none", "head_bucket_plasticity.csv of a run, or its folder.", false},
              "plasticity heatmap",
              set_table},
    PlotField{{"component_csv", "text", "none", "head_component_weights.csv of a run, or its folder.", false},
              "components",
              set_table},
    PlotField{{"distance_csv", "text", "none", "head_distance_plasticity.csv of a run, or its folder.", false},
              "distance",
              set_table},
    PlotField{{"metrics", "text", "none", "head_metrics.csv of a run, or its folder.", false}, "heads", set_table},
    PlotField{
        {"output", "text", "beside the table", "The image; its ending says what is drawn: .png, .svg, .pdf.", false},
        every_kind,
        [](PlotSettings& s, const std::string& v) {
          s.output = config_plain_text(v, false);
          s.figure.format = format_of(*s.output);
        }},
    PlotField{{"column", "text", "ap_exact", "The column of the metrics that is shown.", false},
              "heads",
              [](PlotSettings& s, const std::string& v) { s.figure.column = config_plain_text(v, false); }},
    PlotField{{"agg", "one of mean|median", "mean", "How the values of many heads become one.", false},
              "heatmap components distance",
              [](PlotSettings& s, const std::string& v) {
                s.figure.agg = static_cast<Aggregate>(config_word(v, aggregate_words));
              }},
    PlotField{{"limit", "integer", "all", "Components shown, from the first.", false},
              "components",
              [](PlotSettings& s, const std::string& v) { s.figure.limit = config_integer(v, 1, 10'000); }},
    PlotField{{"bucket_type", "one of uniform|log", from_run, "How the buckets of positions lie.", false},
              "plasticity heatmap",
              [](PlotSettings& s, const std::string& v) {
                s.figure.bucket_type = static_cast<BucketType>(config_word(v, bucket_type_words));
              }},
    PlotField{{"bucket_min_size", "number", from_run, "Tokens of a uniform bucket; of log ones, of the first.", false},
              "plasticity heatmap",
              [](PlotSettings& s, const std::string& v) { s.figure.bucket_min_size = config_positive_number(v); }},
    PlotField{{"alpha", "number", "0.25", "Opacity of a head's line, at most 1.", false},
              "plasticity",
              [](PlotSettings& s, const std::string& v) { s.figure.alpha = config_share(v, true); }},
    PlotField{{"line_width", "number", "0.8", "Points, of a head's line.", false},
              "plasticity",
              [](PlotSettings& s, const std::string& v) { s.figure.line_width = config_positive_number(v); }},
    PlotField{{"color_by_layer", "boolean", "false", "Colour a head's line by its layer.", true},
              "plasticity",
              [](PlotSettings& s, const std::string& v) { s.color_by_layer = config_boolean(v); }},
    PlotField{
        {"color_trend", "boolean", "false", "Colour it by whether it rises (green), falls (red) or neither.", true},
        "plasticity",
        [](PlotSettings& s, const std::string& v) { s.color_trend = config_boolean(v); }},
    PlotField{{"trend_threshold", "number", "0.0001", "Slope a token from which a line rises or falls.", false},
              "plasticity",
              [](PlotSettings& s, const std::string& v) { s.figure.trend_threshold = config_positive_number(v); }},
    PlotField{{"cmap", "text", "viridis; magma for heatmap and distance",
               "Colours: viridis, magma, inferno, plasma, cividis, gray; each also reversed, as viridis_r.", false},
              "plasticity heatmap distance heads",
              [](PlotSettings& s, const std::string& v) { s.figure.cmap = color_map_name(v); }},
    PlotField{{"vmin", "number", "the least value", "Value of the first colour.", false},
              maps,
              [](PlotSettings& s, const std::string& v) { s.figure.vmin = config_number(v); }},
    PlotField{{"vmax", "number", "the largest value", "Value of the last colour.", false},
              maps,
              [](PlotSettings& s, const std::string& v) { s.figure.vmax = config_number(v); }},
    PlotField{{"title", "text", "what is shown, and the model", "Replaces the whole title.", false},
              every_kind,
              [](PlotSettings& s, const std::string& v) { s.figure.title = config_plain_text(v, true); }},
    PlotField{{"model_name", "text", from_run, "The model's name in the title.", false},
              every_kind,
              [](PlotSettings& s, const std::string& v) { s.figure.model_name = config_plain_text(v, false); }},
    PlotField{{"ylabel", "text", "share", "Label of the upright axis.", false},
              "components",
              [](PlotSettings& s, const std::string& v) { s.figure.ylabel = config_plain_text(v, true); }},
    PlotField{{"width", "number", "by figure", "Inches.", false},
              every_kind,
              [](PlotSettings& s, const std::string& v) { s.figure.width = inches(v); }},
    PlotField{{"height", "number", "by figure", "Inches.", false},
              every_kind,
              [](PlotSettings& s, const std::string& v) { s.figure.height = inches(v); }},
    PlotField{
        {"dpi", "integer", "200", "Pixels an inch, of PNG.", false},
        every_kind,
        [](PlotSettings& s, const std::string& v) { s.figure.dpi = static_cast<int>(config_integer(v, 20, 1200)); }},
    PlotField{{"style", "one of paper|screen", "paper", "Black on white, or light on dark.", false},
              every_kind,
              [](PlotSettings& s, const std::string& v) {
                s.figure.style = static_cast<FigureStyle>(config_word(v, style_words));
              }},
};

// None of the words holds another.
bool is_for(const PlotField& field, std::string_view kind) {
  return field.figures.find(kind) != std::string_view::npos;
}

FigureKind kind_of(const Arguments& arguments) {
  if (arguments.positionals().size() == 1) {
    return static_cast<FigureKind>(config_word(arguments.positionals().front(), kinds));
  }
  throw Error(ErrorKind::usage,
              fmt::format("plot needs one figure, before or after the flags: {}{}", fmt::join(kinds, ", "),
                          arguments.positionals().size() > 1 ? "; files are given as flags" : ""));
}

std::vector<Setting> settings_of(const Arguments& arguments) {
  std::vector<Setting> settings;
  if (const auto file = arguments.value("config")) settings = read_yaml_settings(*file, plot_fields());
  for (const Arguments::Given& given : arguments.flags()) {
    if (given.flag == "config") continue;
    settings.push_back({given.flag, std::nullopt, given.typed});
    if (given.value != "null") settings.back().value = given.value;
  }
  return settings;
}

// Every setting is checked, those that a later one overrides too: a typo is a typo.
void check(const Setting& setting, const PlotField& field, std::string_view kind) {
  if (!is_for(field, kind)) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: means nothing to plot {}; it is for {}", setting_place(setting), kind, field.figures));
  }
  if (!setting.value) return;
  try {
    PlotSettings scratch;
    field.set(scratch, *setting.value);
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, fmt::format("{}: {}", setting_place(setting), error.what()));
  }
}

PlotSettings resolved(const std::vector<Setting>& settings, std::string_view kind) {
  std::map<std::string_view, std::optional<std::string>> last;
  for (const Setting& setting : settings) {
    const auto field =
        std::ranges::find(fields_of_plots, setting.field, [](const PlotField& f) { return f.field.name; });
    check(setting, *field, kind);
    last[field->field.name] = setting.value;
  }
  PlotSettings result;
  for (const PlotField& field : fields_of_plots) {
    const std::optional<std::string>& given = last[field.field.name];
    if (given) field.set(result, *given);
  }
  return result;
}

}  // namespace

std::span<const std::string_view> figure_words() { return kinds; }

std::span<const ConfigField> plot_fields() {
  static const std::vector<ConfigField> fields = [] {
    std::vector<ConfigField> all;
    all.reserve(fields_of_plots.size());
    for (const PlotField& field : fields_of_plots) all.push_back(field.field);
    return all;
  }();
  return fields;
}

PlotRequest plot_request(const Arguments& arguments) {
  const FigureKind kind = kind_of(arguments);
  const std::string_view word = kinds[static_cast<std::size_t>(kind)];
  PlotSettings settings = resolved(settings_of(arguments), word);
  if (settings.color_by_layer && settings.color_trend) {
    throw Error(ErrorKind::usage, "color_by_layer and color_trend exclude each other: a line has one colour");
  }
  if (settings.color_by_layer) settings.figure.curve_colors = CurveColors::layer;
  if (settings.color_trend) settings.figure.curve_colors = CurveColors::trend;
  settings.figure.kind = kind;
  if (settings.figure.table.empty()) {
    const auto table = std::ranges::find_if(fields_of_plots, [&](const PlotField& f) { return is_for(f, word); });
    throw Error(ErrorKind::usage, fmt::format("plot {} needs --{}: {}", word, table->field.name, table->field.help));
  }
  const std::filesystem::path& results = settings.figure.table;
  std::error_code unknown;
  const bool is_folder = std::filesystem::is_directory(results, unknown);
  const std::filesystem::path beside = (is_folder ? results : results.parent_path()) / fmt::format("{}.png", word);
  return {settings.figure, settings.output.value_or(beside.string())};
}

}  // namespace attention_plasticity
