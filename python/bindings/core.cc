// attention_plasticity._core: what needs arrays alone, and no Arrow.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/analyze_head.h"
#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/memory.h"
#include "attention_plasticity/results/schema.h"
#include "attention_plasticity/version.h"
#include "errors.h"
#include "head_arrays.h"
#include "head_results.h"
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
  } catch (const Stopped&) {
    throw nb::python_error();  // what the handler of the signal raised
  }
}

template <std::string (*make_printable)(std::string_view)>
std::string printable(const nb::bytes& text) {
  return make_printable({text.c_str(), text.size()});
}

}  // namespace
}  // namespace attention_plasticity::python

NB_MODULE(_core, module) {
  using namespace attention_plasticity;
  using namespace attention_plasticity::python;
  module.doc() = "The analysis of arrays, its options and the schema of its results.";
  translate_errors();
  bind_head_results(module);
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
