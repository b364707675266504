#include "attention_plasticity/figure/run_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "attention_plasticity/error.h"
#include "attention_plasticity/figure/captions.h"
#include "attention_plasticity/figure/drawn_table.h"

namespace attention_plasticity {
namespace {

using HeadPlace = std::pair<int, int>;  // layer and query head

// The tables of both runs, with the rows of the heads that both have.
struct RunPair {
  DrawnTable a;
  DrawnTable b;
  std::string name_a;
  std::string name_b;
  FigureOptions options_b;  // those of the first run, with the second run's table
};

std::vector<HeadPlace> heads_of_rows(const CsvTable& table) {
  const std::size_t layer = table.find("layer").value_or(0);
  const std::size_t q_head = table.find("q_head").value_or(0);
  std::vector<HeadPlace> heads(table.rows.size());
  for (std::size_t row = 0; row < heads.size(); ++row) heads[row] = {table.index(row, layer), table.index(row, q_head)};
  return heads;
}

void keep_heads(CsvTable& table, const std::set<HeadPlace>& kept) {
  const std::vector<HeadPlace> heads = heads_of_rows(table);
  CsvTable rest{table.columns, {}, {}, table.file};
  for (std::size_t row = 0; row < heads.size(); ++row) {
    if (!kept.contains(heads[row])) continue;
    rest.rows.push_back(std::move(table.rows[row]));
    rest.lines.push_back(table.lines[row]);
  }
  table = std::move(rest);
}

void refuse_other_shape(const DrawnTable& a, const DrawnTable& b) {
  if (!a.run || !b.run) return;
  const auto shape = [](const RunDescription& run) {
    return std::tuple(run.num_layers, run.num_q_heads, run.num_k_heads);
  };
  if (shape(*a.run) == shape(*b.run)) return;
  const auto text = [](const RunDescription& run) {
    return fmt::format("{} layers of {} query heads and {} key heads", run.num_layers, run.num_q_heads,
                       run.num_k_heads);
  };
  throw Error(ErrorKind::input,
              fmt::format("cannot be drawn against {}, since heads are matched by layer and number: it has {}, not {}",
                          a.table.file, text(*b.run), text(*a.run)),
              b.table.file);
}

RunPair read_pair(const FigureOptions& options) {
  FigureOptions of_b = options;
  of_b.table = options.against.value_or("");
  RunPair pair{drawn_table(options), drawn_table(of_b), results_name(options.table), results_name(of_b.table), of_b};
  if (pair.name_a == pair.name_b) {
    pair.name_a = options.table.string();
    pair.name_b = of_b.table.string();
  }
  refuse_other_shape(pair.a, pair.b);
  const std::vector<HeadPlace> first = heads_of_rows(pair.a.table);
  const std::vector<HeadPlace> second = heads_of_rows(pair.b.table);
  const std::set<HeadPlace> heads_a(first.begin(), first.end());
  const std::set<HeadPlace> heads_b(second.begin(), second.end());
  std::set<HeadPlace> common;
  std::ranges::set_intersection(heads_a, heads_b, std::inserter(common, common.end()));
  if (common.empty()) {
    throw Error(ErrorKind::input, fmt::format("has no head in common with {}", pair.a.table.file), pair.b.table.file);
  }
  keep_heads(pair.a.table, common);
  keep_heads(pair.b.table, common);
  return pair;
}

std::string title_of(const FigureOptions& options, const RunPair& pair, std::string_view what) {
  if (options.title) return *options.title;
  const std::optional<std::string> model = options.model_name || !pair.a.run ? options.model_name : pair.a.run->model;
  return model ? fmt::format("{} — {}", what, *model) : std::string(what);
}

std::vector<std::string> notes_of(const RunPair& pair) {
  std::vector<std::string> notes = pair.a.files.notes();
  for (const std::string& note : pair.b.files.notes()) notes.push_back(note);
  return notes;
}

// Errors add in squares, as if the runs had measured other documents: the tables do not tell how they move together.
std::vector<CurvePoint> curve_difference(const std::vector<CurvePoint>& a, const std::vector<CurvePoint>& b) {
  std::vector<CurvePoint> difference;
  for (const CurvePoint& first : a) {
    const auto second = std::ranges::find(b, first.bucket, &CurvePoint::bucket);
    if (second == b.end()) continue;
    difference.push_back({first.bucket, first.position, second->plasticity - first.plasticity,
                          std::hypot(first.error, second->error), std::min(first.count, second->count),
                          std::min(first.support, second->support)});
  }
  return difference;
}

FigureScript curves_of_two(const FigureOptions& options) {
  const RunPair pair = read_pair(options);
  DrawnCurves a = drawn_curves(options, pair.a);
  DrawnCurves b = drawn_curves(pair.options_b, pair.b);
  const bool same_buckets = a.geometry.type == b.geometry.type && a.geometry.size == b.geometry.size;
  if (!same_buckets) {
    throw Error(
        ErrorKind::input,
        fmt::format("cannot be drawn against {}, since positions were sampled in other buckets", pair.a.table.file),
        pair.b.table.file);
  }
  if (a.is_exact != b.is_exact) {
    throw Error(
        ErrorKind::input,
        fmt::format("only one of it and {} has position-exact plasticity; `pooled` draws the pooled one of both",
                    pair.a.table.file),
        pair.b.table.file);
  }
  const char* measure = a.is_exact ? "Position-exact plasticity" : "Pooled plasticity";
  const std::string heads = head_text(pair.a.table, a.curves.num_heads, pair.a.all_heads);
  const bool has_errors =
      std::ranges::any_of(a.curves.mean, [](const CurvePoint& point) { return !std::isnan(point.error); });
  const std::string caption =
      fmt::format("{}; below: {} less {}{}", heads, pair.name_b, pair.name_a,
                  has_errors ? "; bands: one standard error, of the difference that of both runs added" : "");
  CurvePair drawn{pair.name_a, pair.name_b, a.curves.mean, b.curves.mean,
                  curve_difference(a.curves.mean, b.curves.mean)};
  return {curve_pair_script(
              drawn, a.geometry, static_cast<double>(options.min_count),
              {title_of(options, pair, fmt::format("{} in two runs", measure)),
               a.geometry.in_tokens ? "position of the query (tokens)" : "bucket of the query",
               a.is_exact ? "position-exact plasticity" : "pooled plasticity", options.caption.value_or(caption)},
              canvas_of(options, 7, 5.8)),
          notes_of(pair)};
}

// The bins of both, ascending.
std::vector<std::int64_t> bins_of_both(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> bins;
  std::ranges::set_union(a, b, std::back_inserter(bins));
  return bins;
}

// A map in a frame of rows and columns that has all of its own.
CellMap framed(const CellMap& map, const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns) {
  const auto place = [](const std::vector<std::int64_t>& bins, std::int64_t bin) {
    return static_cast<std::size_t>(std::ranges::lower_bound(bins, bin) - bins.begin());
  };
  const auto in_frame = [&](const Matrix& own) {
    Matrix made(rows.size(), columns.size());
    std::fill_n(made.data(), rows.size() * columns.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t row = 0; row < own.rows(); ++row) {
      for (std::size_t column = 0; column < own.cols(); ++column) {
        made.row(place(rows, map.rows[row]))[place(columns, map.columns[column])] = own.row(row)[column];
      }
    }
    return made;
  };
  return {rows, columns, in_frame(map.cells), in_frame(map.counts), in_frame(map.support), map.has_counts, map.heads};
}

CellMap difference_of(const CellMap& a, const CellMap& b) {
  CellMap difference = b;
  for (std::size_t i = 0; i < a.cells.rows() * a.cells.cols(); ++i) {
    difference.cells.data()[i] = b.cells.data()[i] - a.cells.data()[i];
    difference.support.data()[i] = std::min(a.support.data()[i], b.support.data()[i]);
  }
  return difference;
}

// The largest absolute value of the cells that are coloured; 0 without any.
double largest_of(const Matrix& cells) {
  double largest = 0;
  for (std::size_t i = 0; i < cells.rows() * cells.cols(); ++i) {
    if (!std::isnan(cells.data()[i])) largest = std::max(largest, std::abs(cells.data()[i]));
  }
  return largest;
}

FigureScript distances_of_two(const FigureOptions& options) {
  const RunPair pair = read_pair(options);
  const CellMap own_a = distance_map(pair.a.table, options.agg);
  const CellMap own_b = distance_map(pair.b.table, options.agg);
  const std::vector<std::int64_t> rows = bins_of_both(own_a.rows, own_b.rows);
  const std::vector<std::int64_t> columns = bins_of_both(own_a.columns, own_b.columns);
  const CellMap a = framed(own_a, rows, columns);
  const CellMap b = framed(own_b, rows, columns);
  const CellMap difference = difference_of(a, b);

  const Canvas canvas = canvas_of(options, 13, 4.6);
  Canvas panel = canvas;
  panel.width = canvas.width / 3;
  const auto min_count = static_cast<double>(options.min_count);
  const std::string heads = head_text(pair.a.table, a.heads, pair.a.all_heads);
  const std::string title = title_of(options, pair, "Position-exact plasticity by distance of the keys");
  std::string script = canvas_commands(canvas) + legend_commands(canvas) +
                       caption_commands(options.caption.value_or(heads), canvas) + heading_command(title, canvas) +
                       "set multiplot\n";
  std::string hatch_note = "little data";
  const struct {
    const CellMap& map;
    std::string name;
    const char* colors;
  } panels[]{{a, pair.name_a, "magma"},
             {b, pair.name_b, "magma"},
             {difference, fmt::format("{} − {}", pair.name_b, pair.name_a), "blue_red"}};
  for (std::size_t i = 0; i < 3; ++i) {
    MapDrawing drawing =
        cell_map_drawing(panels[i].map, panel, [](std::int64_t bin) { return token_label(distance_bin_start(bin)); });
    if (panels[i].map.has_counts) hatch_little_data(drawing, panels[i].map.support, min_count);
    drawing.panels = 3;
    const bool is_difference = i == 2;
    // Both runs have the colours of plasticity, and the difference has zero in the middle of its own.
    const double largest = largest_of(drawing.cells);
    drawing.high = is_difference ? (largest > 0 ? largest : 1) : options.vmax.value_or(1);
    drawing.low = is_difference ? -drawing.high : options.vmin.value_or(0);
    drawing.color_label = is_difference ? "difference" : "position-exact plasticity";
    // The legend stands once for all maps.
    drawing.hatch_note = hatch_note;
    if (!drawing.hatched.empty()) hatch_note.clear();
    // Margins in inches, so that all maps have the same size.
    const double left = static_cast<double>(i) / 3;
    script += fmt::format("set lmargin at screen {:.4g}\nset rmargin at screen {:.4g}\nset tmargin at screen {:.4g}\n",
                          left + 0.75 / canvas.width, left + 1.0 / 3 - 0.95 / canvas.width, 1 - 0.62 / canvas.height);
    script += map_commands(
        drawing, ColorMap(is_difference ? panels[i].colors : options.cmap.value_or(panels[i].colors)),
        {panels[i].name, "distance of the nearer key (tokens)", i == 0 ? "distance of the farther key (tokens)" : ""},
        panel);
    script += "unset label 1\nunset label 2\n";
  }
  return {script + "unset multiplot\n", notes_of(pair)};
}

}  // namespace

FigureScript run_pair_figure(const FigureOptions& options) {
  if (options.kind == FigureKind::plasticity) return curves_of_two(options);
  if (options.kind == FigureKind::distance) return distances_of_two(options);
  throw Error(ErrorKind::usage, "`against` is for the figures plasticity and distance");
}

}  // namespace attention_plasticity
