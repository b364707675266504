#include "comparisons.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/compare/comparison.h"
#include "attention_plasticity/compare/comparison_text.h"
#include "attention_plasticity/compare/series.h"
#include "attention_plasticity/compare/series_text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attention_plasticity::python {
namespace {

/// The files of a run, and what the user calls it.
using NamedRun = std::pair<std::filesystem::path, std::string>;

// What Python shows of several runs.
struct Found {
  std::string csv, json, text;
  std::vector<std::string> caveats, notes;

  nb::dict dict() const {
    nb::dict found;
    found["csv"] = csv;
    found["json"] = json;
    found["text"] = text;
    found["caveats"] = caveats;
    found["notes"] = notes;
    return found;
  }
};

std::vector<ComparedRun> read_runs(const std::vector<NamedRun>& runs, std::vector<std::string>& notes) {
  std::vector<ComparedRun> read;
  read.reserve(runs.size());
  for (const auto& [path, name] : runs) {
    read.push_back(read_compared_run(path, notes));
    // The files of a run in memory stand in a temporary folder, whose name says nothing.
    read.back().folder = name;
  }
  return read;
}

nb::dict compare_runs(const NamedRun& a, const NamedRun& b, const std::vector<std::string>& columns, double level) {
  Found found;
  {
    const nb::gil_scoped_release release;
    const std::vector<ComparedRun> runs = read_runs({a, b}, found.notes);
    const Comparison comparison = compare(runs[0], runs[1], {columns, level});
    found.csv = differences_csv(comparison);
    found.json = comparison_json(comparison, runs[0], runs[1]);
    found.text = comparison_table(comparison, runs[0], runs[1]);
    found.caveats = comparison.caveats;
  }
  return found.dict();
}

nb::dict series_of_runs(const std::vector<NamedRun>& runs, const std::optional<std::string>& x_text,
                        const std::optional<std::pair<std::string, std::vector<double>>>& x,
                        const std::vector<std::string>& columns, double level, double threshold) {
  Found found;
  {
    const nb::gil_scoped_release release;
    const std::vector<ComparedRun> read = read_runs(runs, found.notes);
    std::vector<std::string> names;
    names.reserve(runs.size());
    for (const auto& [path, name] : runs) names.push_back(name);
    SeriesAxis axis;
    if (x) {
      axis = {x->first, x->second};
    } else {
      axis = x_text ? parse_axis(*x_text, names) : axis_of_names(names);
    }
    const Series series = make_series(read, axis, {columns, level, threshold});
    found.csv = series_csv(series);
    found.json = series_json(series, read);
    found.text = series_table(series, read);
    found.caveats = series.caveats;
  }
  return found.dict();
}

}  // namespace

void bind_comparisons(nb::module_& module) {
  const SeriesOptions defaults;
  module.def("compare_runs", &compare_runs, "a"_a, "b"_a, "columns"_a, "level"_a = defaults.level,
             "Two runs as the table, the summary and the text of their comparison. Runs are (path, name).");
  module.def("series_of_runs", &series_of_runs, "runs"_a, "x_text"_a.none(), "x"_a.none(), "columns"_a,
             "level"_a = defaults.level, "threshold"_a = defaults.threshold, "The same for runs in an order.");
}

}  // namespace attention_plasticity::python
