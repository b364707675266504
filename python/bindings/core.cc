// attention_plasticity._core: what needs arrays alone, and no Arrow.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/analyze_head.h"
#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/memory.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/run/result_tables.h"
#include "attention_plasticity/version.h"
#include "errors.h"
#include "head_arrays.h"
#include "options.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attention_plasticity::python {
namespace {

nb::list schema() {
  nb::list tables;
  for (const ResultTable& table : result_tables()) {
    nb::list columns;
    for (const ResultColumn& column : table.columns) {
      nb::dict entry;
      entry["name"] = column.name;
      entry["type"] = column.type == ColumnType::integer ? "integer" : "number";
      entry["meaning"] = column.meaning;
      entry["low"] = column.range.low;
      entry["high"] = column.range.high;
      entry["is_key"] = column.is_key;
      entry["error_of"] = column.error_of;
      columns.append(entry);
    }
    nb::dict entry;
    entry["name"] = table.name;
    entry["file"] = table.file;
    entry["meaning"] = table.meaning;
    entry["columns"] = columns;
    tables.append(entry);
  }
  return tables;
}

double largest_position(const RowsView& rows) {
  double largest = 0;
  for (const double position : rows.position) largest = std::max(largest, position);
  return largest;
}

// Looks for signals ten times a second: true when a handler raised, such as that of Ctrl-C.
class SignalWatch {
 public:
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return false;
    last_ = now;
    const nb::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

HeadResult analyzed(const HeadId& head, const HeadArrays& queries, const HeadArrays& keys, const RunConfig& config) {
  const nb::gil_scoped_release release;
  const StopScope stop{SignalWatch()};
  const std::optional<ModelRotation> model = rotation_of(config);
  std::optional<LayerRotation> layer;
  if (model && config.analysis.num_triples > 0) {
    layer = model->layer(head.layer, queries.view().width,
                         std::max(largest_position(queries.view()), largest_position(keys.view())));
  }
  return analyze_head(head, queries.view(), keys.view(), config.analysis, layer ? &layer->rotation : nullptr);
}

HeadResult analyze(const HeadId& head, const HeadArrays& queries, const HeadArrays& keys, const NamedTexts& options) {
  try {
    return analyzed(head, queries, keys, resolve_config(settings_of(options)));
  } catch (const WorkStopped&) {
    throw nb::python_error();  // what the handler of the signal raised
  }
}

// The columns of head_metrics.csv that the result has.
nb::dict metrics_of(const HeadResult& result) {
  const HeadResult results[]{result};
  RunConfig config;
  config.analysis.standard_errors = !std::isnan(result.plasticity_error) || !std::isnan(result.exact_error);
  const Table table = table_of(TableId::metrics, results, run_parts(results, config), {});
  nb::dict values;
  for (const TableColumn& column : table.columns) {
    values[nb::str(column.name.c_str(), column.name.size())] =
        std::visit([](const auto& numbers) { return nb::cast(numbers.front()); }, column.values);
  }
  return values;
}

template <std::string (*make_printable)(std::string_view)>
std::string printable(const nb::bytes& text) {
  return make_printable({text.c_str(), text.size()});
}

void bind_results(nb::module_& module) {
  nb::class_<HeadId>(module, "HeadId", "A query head and the key head that it reads.")
      .def_ro("layer", &HeadId::layer)
      .def_ro("q_head", &HeadId::q_head)
      .def_ro("k_head", &HeadId::k_head)
      .def("__repr__", [](const HeadId& head) {
        return "HeadId(layer=" + std::to_string(head.layer) + ", q_head=" + std::to_string(head.q_head) +
               ", k_head=" + std::to_string(head.k_head) + ")";
      });
  nb::class_<ScalarPredictability>(module, "ScalarPredictability",
                                   "How well a projection of the query predicts log2(position + 1).")
      .def_ro("r_squared", &ScalarPredictability::r_squared)
      .def_ro("mae_baseline", &ScalarPredictability::mae_baseline)
      .def_ro("mae_projection", &ScalarPredictability::mae_projection)
      .def_ro("mae_ratio", &ScalarPredictability::mae_ratio);
  nb::class_<Normality>(module, "Normality", "Shape of a standardised sample against N(0, 1).")
      .def_ro("skewness", &Normality::skewness)
      .def_ro("excess_kurtosis", &Normality::excess_kurtosis)
      .def_ro("ks_p", &Normality::ks_p);
  nb::class_<NoiseNormality>(module, "NoiseNormality", "Normality over the components that do not follow position.")
      .def_ro("median_abs_skewness", &NoiseNormality::median_abs_skewness)
      .def_ro("median_abs_excess_kurtosis", &NoiseNormality::median_abs_excess_kurtosis)
      .def_ro("median_ks_p", &NoiseNormality::median_ks_p)
      .def_ro("share_below_alpha", &NoiseNormality::share_below_alpha);
  nb::class_<Cell>(module, "Cell", "The queries of one bucket and the keys of an earlier one.")
      .def_ro("query_bucket", &Cell::query_bucket)
      .def_ro("key_bucket", &Cell::key_bucket)
      .def_ro("plasticity", &Cell::plasticity)
      .def_ro("n_pairs", &Cell::n_pairs);
  nb::class_<PooledPlasticity>(module, "PooledPlasticity", "4 p (1 - p) over pairs of keys, by buckets.")
      .def_ro("overall", &PooledPlasticity::overall)
      .def_ro("cells", &PooledPlasticity::cells);
  nb::class_<DistanceBin>(module, "DistanceBin", "The triples of one pair of distance bins.")
      .def_ro("near_bin", &DistanceBin::near_bin)
      .def_ro("far_bin", &DistanceBin::far_bin)
      .def_ro("plasticity", &DistanceBin::plasticity)
      .def_ro("logit_fixed", &DistanceBin::logit_fixed)
      .def_ro("logit_spread", &DistanceBin::logit_spread)
      .def_ro("n_triples", &DistanceBin::n_triples);
  nb::class_<ExactPlasticity>(module, "ExactPlasticity", "Plasticity with the rotation followed to each position.")
      .def_ro("overall", &ExactPlasticity::overall)
      .def_ro("empirical", &ExactPlasticity::empirical)
      .def_ro("logit_fixed", &ExactPlasticity::logit_fixed)
      .def_ro("logit_spread", &ExactPlasticity::logit_spread)
      .def_ro("n_triples", &ExactPlasticity::n_triples)
      .def_ro("distances", &ExactPlasticity::distances);
  nb::class_<TimePoint>(module, "TimePoint", "What was measured of the queries of one bucket.")
      .def_ro("query_bucket", &TimePoint::query_bucket)
      .def_ro("position", &TimePoint::position)
      .def_ro("plasticity", &TimePoint::plasticity)
      .def_ro("n_pairs", &TimePoint::n_pairs)
      .def_ro("n_queries", &TimePoint::n_queries)
      .def_ro("exact", &TimePoint::exact)
      .def_ro("exact_error", &TimePoint::exact_error)
      .def_ro("n_triples", &TimePoint::n_triples);
  nb::class_<HeadResult>(module, "HeadResult", "Everything that is measured of one head. NaN: it does not exist.")
      .def_ro("head", &HeadResult::head)
      .def_ro("n_q_tokens", &HeadResult::n_q_tokens)
      .def_ro("n_k_tokens", &HeadResult::n_k_tokens)
      .def_ro("width", &HeadResult::width)
      .def_ro("window", &HeadResult::window)
      .def_ro("position_r_squared", &HeadResult::position_r_squared)
      .def_ro("slope_norm", &HeadResult::slope_norm)
      .def_ro("scalar", &HeadResult::scalar)
      .def_ro("residual", &HeadResult::residual)
      .def_ro("noise", &HeadResult::noise)
      .def_ro("component_r_squared", &HeadResult::component_r_squared)
      .def_ro("component_weight", &HeadResult::component_weight)
      .def_ro("plasticity", &HeadResult::plasticity)
      .def_ro("plasticity_error", &HeadResult::plasticity_error)
      .def_ro("exact", &HeadResult::exact)
      .def_ro("exact_error", &HeadResult::exact_error)
      .def_ro("times", &HeadResult::times)
      .def_ro("examples", &HeadResult::examples)
      .def("metrics", metrics_of, nb::sig("def metrics(self) -> dict[str, float]"),
           "The figures under the names of the columns of head_metrics.csv.");
}

}  // namespace
}  // namespace attention_plasticity::python

NB_MODULE(_core, module) {
  using namespace attention_plasticity;
  using namespace attention_plasticity::python;
  module.doc() = "The analysis of arrays, its options and the schema of its results.";
  translate_errors();
  bind_results(module);
  nb::class_<HeadArrays>(module, "HeadArrays", "Queries or keys of one head, borrowed from the arrays of their owner.")
      .def(nb::init<VectorArray, ColumnArray<double>, ColumnArray<std::int64_t>,
                    std::optional<ColumnArray<std::uint64_t>>, std::optional<double>>(),
           "vectors"_a.noconvert(), "position"_a.noconvert(), "bucket"_a.noconvert(), "example"_a.noconvert().none(),
           "window"_a.none())
      .def_prop_ro("rows", [](const HeadArrays& arrays) { return arrays.view().size(); })
      .def_prop_ro("width", [](const HeadArrays& arrays) { return arrays.view().width; });
  module.def("float32_rows", &float32_rows, "array"_a, nb::sig("def float32_rows(array: typing.Any) -> typing.Any"),
             "VectorArray as a float32 array: borrowed where they are float32, widened from float16 and bfloat16.");
  module.def(
      "analyze_head",
      [](int layer, int q_head, int k_head, const HeadArrays& queries, const HeadArrays& keys,
         const NamedTexts& options) { return analyze({layer, q_head, k_head}, queries, keys, options); },
      "layer"_a, "q_head"_a, "k_head"_a, "queries"_a, "keys"_a, "options"_a, "Measures one head.");
  module.def("fields", &field_list, nb::sig("def fields() -> list[dict[str, typing.Any]]"),
             "Every field of the configuration.");
  module.def("schema", &schema, nb::sig("def schema() -> list[dict[str, typing.Any]]"),
             "The tables of a run and their columns.");
  module.def("printable_text", &printable<printable_text>, "text"_a, "Text of strangers on one line, spelled out.");
  module.def("printable_lines", &printable<printable_lines>, "text"_a, "The same for several lines.");
  module.def("kept_memory_bytes", &kept_memory_bytes, "Memory that the library keeps for the next head, in bytes.");
  module.def("release_kept_memory", &release_kept_memory, "Gives that memory back to the system.");
  module.def(
      "program_version",
      [] {
        const ProgramVersion program = program_version();
        nb::dict version;
        version["version"] = program.version;
        version["commit"] = program.commit;
        version["compiler"] = program.compiler;
        version["simd"] = program.simd;
        return version;
      },
      nb::sig("def program_version() -> dict[str, str]"), "Version, commit, compiler and instruction set.");
}
