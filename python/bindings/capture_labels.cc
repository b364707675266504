#include "capture_labels.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/capture/attention_labels.h"
#include "capture_tensors.h"
#include "owned_array.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attention_plasticity::python {
namespace {

using Ids = ColumnArray<std::int64_t>;
using Sinks = ColumnArray<float>;
using Add = void (AttentionLabels::*)(int, const TensorView&, const TensorView&, const AttentionRule&);

nb::list sequences(const Ids& ordinary_ids, std::optional<std::int64_t> bos) {
  nb::list all;
  for (std::vector<std::int64_t>& ids : AttentionLabels::sequences({ordinary_ids.data(), ordinary_ids.shape(0)}, bos)) {
    all.append(owned_array(std::move(ids)));
  }
  return all;
}

template <Add add>
void add_sequence(AttentionLabels& labels, int layer, const AnyArray& queries, const AnyArray& keys, double scale,
                  std::optional<double> softcap, const std::optional<Sinks>& sinks, std::optional<std::size_t> window) {
  AttentionRule rule{scale, softcap.value_or(0), {}, window};
  if (sinks) rule.sinks = {sinks->data(), sinks->shape(0)};
  const TensorView query_view = tensor_view(queries, "queries");
  const TensorView key_view = tensor_view(keys, "keys");
  const nb::gil_scoped_release release;
  (labels.*add)(layer, query_view, key_view, rule);
}

nb::dict table(const AttentionLabels& labels) {
  std::vector<std::int64_t> layers;
  std::vector<std::int64_t> heads;
  for (const auto& [layer, head] : labels.heads()) {
    layers.push_back(layer);
    heads.push_back(head);
  }
  nb::dict columns;
  columns["layer"] = owned_array(std::move(layers));
  columns["q_head"] = owned_array(std::move(heads));
  for (std::size_t column = 0; column < label_columns.size(); ++column) {
    const std::string_view name = label_columns.at(column).name;
    columns[nb::str(name.data(), name.size())] = owned_array(labels.values(column));
  }
  return columns;
}

}  // namespace

void bind_labels(nb::module_& module) {
  nb::class_<AttentionLabels> labels(module, "HeadLabels", "What heads attend to, from full queries and keys.");
  labels
      .def(nb::init<std::vector<std::pair<int, int>>>(), "layers"_a,
           "layers: query heads and key heads of each; (0, 0): a layer without attention.")
      .def_static("sequences", &sequences, "ordinary_ids"_a, "bos"_a = nb::none(),
                  nb::sig("def sequences(ordinary_ids: typing.Any, bos: int | None = None) -> list[typing.Any]"),
                  "The token ids of the repeated sequences, from the ids of the tokens that are not special.")
      .def("add_repeated", &add_sequence<&AttentionLabels::add_repeated>, "layer"_a, "queries"_a, "keys"_a, "scale"_a,
           "softcap"_a = nb::none(), "sinks"_a = nb::none(), "window"_a = nb::none(),
           nb::sig("def add_repeated(self, layer: int, queries: typing.Any, keys: typing.Any, scale: float, softcap: "
                   "float | None = None, sinks: typing.Any = None, window: int | None = None) -> None"),
           "Adds all queries and keys, heads by tokens by components, of a repeated sequence.")
      .def("add_document", &add_sequence<&AttentionLabels::add_document>, "layer"_a, "queries"_a, "keys"_a, "scale"_a,
           "softcap"_a = nb::none(), "sinks"_a = nb::none(), "window"_a = nb::none(),
           nb::sig("def add_document(self, layer: int, queries: typing.Any, keys: typing.Any, scale: float, softcap: "
                   "float | None = None, sinks: typing.Any = None, window: int | None = None) -> None"),
           "The same of a document, cut to document_tokens.")
      .def("table", &table, nb::sig("def table(self) -> dict[str, typing.Any]"), "The columns as arrays by name.")
      .def("text", &AttentionLabels::csv, "The text of head_labels.csv.")
      .def(
          "write",
          [](const AttentionLabels& self, const std::filesystem::path& path) {
            write_file_atomically(path, self.csv());
          },
          "path"_a, "Writes head_labels.csv.");
  labels.attr("repeated_sequences") = AttentionLabels::repeated_sequences;
  labels.attr("repeated_tokens") = AttentionLabels::repeated_tokens;
  labels.attr("documents") = AttentionLabels::most_documents;
  labels.attr("document_tokens") = AttentionLabels::document_tokens;
}

}  // namespace attention_plasticity::python
