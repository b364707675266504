#include "studies.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/evaluation/cache_plan_text.h"
#include "attention_plasticity/evaluation/head_labels.h"
#include "attention_plasticity/evaluation/validation.h"
#include "attention_plasticity/evaluation/validation_report.h"
#include "attention_plasticity/report/report.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/results/run_files.h"
#include "table_arrays.h"
#include "word_option.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attention_plasticity::python {
namespace {

// What a folder of results holds: path and text of run.json, the paths of its tables, and notes.
nb::dict result_files(const std::filesystem::path& results) {
  const ResultFiles files(results);
  nb::dict tables;
  for (const TableInfo& table : table_infos()) {
    if (const auto& file = files.find(table.id)) tables[nb::str(table.name.data(), table.name.size())] = *file;
  }
  nb::dict found;
  found["folder"] = files.folder();
  found["run"] = files.run();
  found["run_text"] = files.run_text();
  found["tables"] = tables;
  std::vector<std::string> notes = files.notes();
  for (std::string& line : files.left_out()) notes.push_back(std::move(line));
  found["notes"] = notes;
  return found;
}

nb::dict read_columns(const std::filesystem::path& folder, const std::string& name) {
  const TableId id = table_id(name);
  Table table = [&] {
    const nb::gil_scoped_release release;
    return read_table(folder, id);
  }();
  return columns_of(std::move(table));
}

CachePlan plan_of(const std::filesystem::path& results, const std::optional<std::filesystem::path>& labels,
                  const CachePlanOptions& options) {
  check(options);
  const ResultFiles files(results);
  std::optional<HeadLabels> read;
  if (labels) read = read_head_labels(*labels);
  return plan_cache(read_head_metrics(files), files.description(), options, read ? &*read : nullptr);
}

PlanFormat plan_format(const std::string& word) {
  constexpr std::string_view words[]{"json", "tsv", "scores"};
  return static_cast<PlanFormat>(word_option("format", word, words));
}

const char* kind_word(CacheKind kind) {
  switch (kind) {
    case CacheKind::full:
      return "full";
    case CacheKind::window:
      return "window";
    case CacheKind::sliding:
      return "sliding";
  }
  return "";
}

nb::list planned_heads(const CachePlan& plan) {
  nb::list heads;
  for (int layer = 0; layer < plan.num_layers; ++layer) {
    for (int head = 0; head < plan.num_kv_heads; ++head) {
      const PlannedHead& planned = plan.head(layer, head);
      heads.append(nb::make_tuple(layer, head, kind_word(planned.kind), planned.score, planned.window));
    }
  }
  return heads;
}

void bind_plans(nb::module_& module) {
  nb::class_<CachePlan>(module, "CachePlan", "Which KV heads keep their whole cache.")
      .def_ro("model", &CachePlan::model)
      .def_ro("column", &CachePlan::column)
      .def_ro("keep", &CachePlan::keep)
      .def_ro("threshold", &CachePlan::threshold)
      .def_ro("window", &CachePlan::window)
      .def_ro("sinks", &CachePlan::sinks)
      .def_ro("num_layers", &CachePlan::num_layers)
      .def_ro("num_q_heads", &CachePlan::num_q_heads)
      .def_ro("num_kv_heads", &CachePlan::num_kv_heads)
      .def("heads", &planned_heads, "Layer, KV head, kind, score and window of every KV head.")
      .def(
          "text",
          [](const CachePlan& plan, const std::string& format) { return cache_plan_text(plan, plan_format(format)); },
          "format"_a, "The plan as the text of a file: json, tsv or scores.")
      .def("saved", &cache_saved, "tokens"_a,
           "The share of the cache that the plan saves at a context of this length.");
  module.def(
      "plan_cache",
      [](const std::filesystem::path& results, std::optional<double> keep, std::optional<double> threshold,
         const std::string& column, const std::string& group, std::int64_t window, std::int64_t sinks,
         const std::string& missing, const std::optional<std::filesystem::path>& labels) {
        CachePlanOptions options;
        options.keep = keep;
        options.threshold = threshold;
        options.column = column;
        constexpr std::string_view groups[]{"max", "mean"};
        options.group = static_cast<GroupScore>(word_option("group", group, groups));
        options.window = window;
        options.sinks = sinks;
        constexpr std::string_view ways[]{"error", "full"};
        options.keep_missing = word_option("missing", missing, ways) == 1;
        return plan_of(results, labels, options);
      },
      "results"_a, "keep"_a.none(), "threshold"_a.none(), "column"_a, "group"_a, "window"_a, "sinks"_a, "missing"_a,
      "labels"_a.none());
  module.def(
      "read_plan", [](const std::string& file) { return parse_plan_json(read_text_file(file), file); }, "file"_a,
      "The plan of a file in json.");
  module.def("plan_defaults", [] {
    const CachePlanOptions options;
    nb::dict defaults;
    defaults["column"] = options.column;
    defaults["group"] = options.group == GroupScore::max ? "max" : "mean";
    defaults["window"] = options.window;
    defaults["sinks"] = options.sinks;
    defaults["missing"] = options.keep_missing ? "full" : "error";
    return defaults;
  });
}

nb::dict validation_of(const std::filesystem::path& results, const std::optional<std::string>& labels_text,
                       const std::string& labels_file, const std::optional<std::string>& positive,
                       const std::optional<std::string>& negative, const std::vector<std::string>& columns,
                       std::size_t bootstrap, double confidence, std::uint64_t seed) {
  if (positive.has_value() != negative.has_value()) {
    throw Error(ErrorKind::usage, "`positive` and `negative` go together: two kinds of heads are compared");
  }
  ValidationOptions options;
  options.positive = positive;
  options.negative = negative;
  options.measures = columns;
  options.bootstrap.resamples = bootstrap;
  options.bootstrap.confidence = confidence;
  options.bootstrap.seed = seed;
  Validation validation;
  std::string metrics_file;
  {
    const nb::gil_scoped_release release;
    const ResultFiles files(results);
    const HeadMetrics metrics = read_head_metrics(files);
    metrics_file = metrics.file();
    const HeadLabels labels =
        labels_text ? parse_head_labels(*labels_text, labels_file) : read_head_labels(labels_file);
    fit_labels(labels, metrics.heads(), files.description(), metrics.file());
    validation = validate(metrics, labels, options);
  }
  nb::dict found;
  found["text"] = validation_table(validation, options.bootstrap);
  found["csv"] = validation_csv(validation);
  found["json"] = validation_json(validation, options.bootstrap, metrics_file, labels_file);
  found["notes"] = validation.notes;
  return found;
}

nb::tuple write_report(const std::filesystem::path& results, const std::filesystem::path& output,
                       const std::optional<std::filesystem::path>& labels, std::size_t min_count, bool in_memory,
                       const std::optional<std::string>& labels_name) {
  Report report;
  {
    const nb::gil_scoped_release release;
    ReportOptions options{{results}, labels, min_count};
    options.in_memory = in_memory;
    options.labels_name = labels_name;
    report = make_report(options);
    write_file_atomically(output, report.page);
  }
  return nb::make_tuple(report.heads, report.notes);
}

}  // namespace

void bind_studies(nb::module_& module) {
  module.def("result_files", &result_files, "results"_a, "The files of a run.");
  module.def("read_columns", &read_columns, "folder"_a, "name"_a, "A table of a finished run as arrays by name.");
  module.def(
      "copy_results",
      [](const std::filesystem::path& results, const std::filesystem::path& folder, bool overwrite) {
        const nb::gil_scoped_release release;
        const std::vector<std::string> files = copy_results(ResultFiles(results), folder, overwrite);
        return std::vector<std::filesystem::path>(files.begin(), files.end());
      },
      "results"_a, "folder"_a, "overwrite"_a, "Writes the files of a run into another folder; returns their paths.");
  module.def(
      "write_file",
      [](const std::filesystem::path& file, const nb::bytes& content) {
        const std::string_view bytes(content.c_str(), content.size());
        const nb::gil_scoped_release release;
        write_file_atomically(file, bytes);
      },
      "file"_a, "content"_a, "Writes a file that appears whole, and the folders above it.");
  bind_plans(module);
  const BootstrapOptions bootstrap;
  module.def("validate", &validation_of, "results"_a, "labels_text"_a.none(), "labels_file"_a, "positive"_a.none(),
             "negative"_a.none(), "columns"_a, "bootstrap"_a = bootstrap.resamples,
             "confidence"_a = bootstrap.confidence, "seed"_a = bootstrap.seed);
  module.def("write_report", &write_report, "results"_a, "output"_a, "labels"_a.none(), "min_count"_a, "in_memory"_a,
             "labels_name"_a.none());
}

}  // namespace attention_plasticity::python
