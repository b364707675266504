#include "figures.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>

#include "attention_plasticity/figure/captions.h"
#include "attention_plasticity/figure/cell_map.h"
#include "attention_plasticity/figure/color_map.h"
#include "attention_plasticity/figure/component_bars.h"
#include "attention_plasticity/figure/drawn_table.h"
#include "attention_plasticity/figure/head_map.h"
#include "table_arrays.h"
#include "word_option.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attention_plasticity::python {
namespace {

using Indices = std::vector<int>;

FigureOptions options_of(FigureKind kind, const std::filesystem::path& results, Indices layers, Indices heads) {
  FigureOptions options;
  options.kind = kind;
  options.table = results;
  options.selection = {std::move(layers), std::move(heads)};
  return options;
}

Aggregate aggregate_of(const std::string& word) {
  constexpr std::string_view words[]{"mean", "median"};
  return static_cast<Aggregate>(word_option("agg", word, words));
}

nb::dict points(const std::vector<CurvePoint>& curve) {
  const auto column = [&](double CurvePoint::* member) {
    std::vector<double> values;
    values.reserve(curve.size());
    for (const CurvePoint& point : curve) values.push_back(point.*member);
    return array_of(std::move(values));
  };
  nb::dict columns;
  columns["position"] = column(&CurvePoint::position);
  columns["plasticity"] = column(&CurvePoint::plasticity);
  columns["error"] = column(&CurvePoint::error);
  columns["support"] = column(&CurvePoint::support);
  return columns;
}

nb::dict curves(const std::filesystem::path& results, const Indices& layers, const Indices& heads, bool pooled,
                std::size_t min_count) {
  FigureOptions options = options_of(FigureKind::plasticity, results, layers, heads);
  options.pooled = pooled;
  options.min_count = min_count;
  const DrawnTable drawn = drawn_table(options);
  const DrawnCurves data = drawn_curves(options, drawn);
  nb::list lines;
  for (const HeadCurve& head : data.curves.heads) {
    nb::dict line = points(head.points);
    line["layer"] = head.layer;
    line["q_head"] = head.q_head;
    lines.append(line);
  }
  nb::dict figure;
  figure["heads"] = lines;
  figure["mean"] = points(data.curves.mean);
  figure["is_exact"] = data.is_exact;
  figure["in_tokens"] = data.geometry.in_tokens;
  figure["is_log"] = data.geometry.type == BucketType::log;
  figure["caption"] =
      curves_caption(data.curves, head_text(drawn.table, data.curves.num_heads, drawn.all_heads),
                     data.is_exact ? "triples" : "pairs of keys", static_cast<double>(min_count), data.is_bound);
  return figure;
}

nb::dict cell_figure(const CellMap& map, const DrawnTable& drawn, const char* counted, std::size_t min_count,
                     const std::function<double(std::int64_t)>& start) {
  const auto edges = [&](const std::vector<std::int64_t>& bins) {
    std::vector<double> starts;
    std::vector<std::string> labels;
    for (const std::int64_t bin : bin_edges(bins)) {
      starts.push_back(start(bin));
      labels.push_back(token_label(starts.back()));
    }
    nb::dict axis;
    axis["start"] = array_of(std::move(starts));
    axis["label"] = labels;
    return axis;
  };
  nb::dict figure;
  figure["values"] = array_of(map.cells);
  figure["support"] = map.has_counts ? array_of(map.support) : nb::none();
  figure["rows"] = edges(map.rows);
  figure["columns"] = edges(map.columns);
  figure["heads"] = map.heads;
  figure["caption"] =
      cells_caption(map.has_counts ? &map.counts : nullptr, head_text(drawn.table, map.heads, drawn.all_heads), counted,
                    map.has_counts, map.heads, static_cast<double>(min_count));
  return figure;
}

nb::dict distance(const std::filesystem::path& results, const Indices& layers, const Indices& heads,
                  const std::string& agg, std::size_t min_count) {
  const DrawnTable drawn = drawn_table(options_of(FigureKind::distance, results, layers, heads));
  return cell_figure(distance_map(drawn.table, aggregate_of(agg)), drawn, "triples", min_count, distance_bin_start);
}

nb::dict heatmap(const std::filesystem::path& results, const Indices& layers, const Indices& heads,
                 const std::string& agg, std::size_t min_count) {
  const FigureOptions options = options_of(FigureKind::heatmap, results, layers, heads);
  const DrawnTable drawn = drawn_table(options);
  const BucketGeometry geometry = geometry_of(options, drawn.run);
  const CellMap map = bucket_map(drawn.table, aggregate_of(agg));
  check_reach(geometry, bin_edges(map.rows).back());
  nb::dict figure =
      cell_figure(map, drawn, "pairs of keys", min_count, [&](std::int64_t bucket) { return geometry.start(bucket); });
  figure["in_tokens"] = geometry.in_tokens;
  return figure;
}

nb::dict components(const std::filesystem::path& results, const Indices& layers, const Indices& heads,
                    const std::string& agg, std::optional<std::size_t> limit) {
  const DrawnTable drawn = drawn_table(options_of(FigureKind::components, results, layers, heads));
  ComponentBars bars = component_bars(drawn.table, aggregate_of(agg), limit);
  nb::dict figure;
  figure["shares"] = array_of(std::move(bars.shares));
  figure["heads"] = bars.heads;
  figure["caption"] = head_text(drawn.table, bars.heads, drawn.all_heads);
  return figure;
}

nb::dict heads_figure(const std::filesystem::path& results, const std::optional<std::string>& column,
                      const Indices& layers, const Indices& heads) {
  const FigureOptions options = options_of(FigureKind::heads, results, layers, heads);
  const DrawnTable drawn = drawn_table(options);
  const HeadMetrics metrics(drawn.table);
  const std::string name = column.value_or(main_column(metrics));
  const HeadMap map = head_map(metrics, name, drawn.run, options.selection);
  const ResultColumn* known = result_table(TableId::metrics).find(name);
  nb::dict figure;
  figure["column"] = name;
  figure["title"] = known != nullptr && !known->title.empty() ? std::string(known->title) : name;
  figure["layers"] = map.layers;
  figure["heads"] = map.heads;
  figure["values"] = array_of(map.values);
  figure["counts"] = array_of(map.counts);
  figure["windows"] = map.windows;
  return figure;
}

std::vector<std::string> colors(const std::string& name) {
  constexpr char digits[] = "0123456789abcdef";
  const ColorMap map(name);
  std::vector<std::string> anchors;
  anchors.reserve(map.anchors().size());
  for (const std::uint32_t color : map.anchors()) {
    std::string text = "#";
    for (int shift = 20; shift >= 0; shift -= 4) text += digits[(color >> static_cast<unsigned>(shift)) & 0xFU];
    anchors.push_back(std::move(text));
  }
  return anchors;
}

}  // namespace

void bind_figures(nb::module_& module) {
  const std::size_t min_count = FigureOptions().min_count;
  module.attr("min_count") = min_count;
  module.def("curves", &curves, "results"_a, "layers"_a, "heads"_a, "pooled"_a, "min_count"_a,
             "The plasticity of heads by the position of their queries, and its mean.");
  module.def("distance_map", &distance, "results"_a, "layers"_a, "heads"_a, "agg"_a, "min_count"_a,
             "Position-exact plasticity by the distances of the two keys.");
  module.def("bucket_map", &heatmap, "results"_a, "layers"_a, "heads"_a, "agg"_a, "min_count"_a,
             "Pooled plasticity by the buckets of query and keys.");
  module.def("component_bars", &components, "results"_a, "layers"_a, "heads"_a, "agg"_a, "limit"_a.none(),
             "The share of each component in the linear information about position.");
  module.def("head_map", &heads_figure, "results"_a, "column"_a.none(), "layers"_a, "heads"_a,
             "A measure of every head, by layer and head.");
  module.def("colors", &colors, "name"_a, "The anchors of a colour map, as #rrggbb.");
}

}  // namespace attention_plasticity::python
