// attention_plasticity._capture: dumps, rows in memory and labels of heads, from the queries and keys of any model.

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/capture/capture_settings.h"
#include "attention_plasticity/capture/captured_rows.h"
#include "attention_plasticity/capture/dump_writer.h"
#include "attention_plasticity/capture/position_sampler.h"
#include "attention_plasticity/error.h"
#include "capture_labels.h"
#include "capture_tensors.h"
#include "named_texts.h"
#include "owned_array.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attention_plasticity::python {
namespace {

CaptureSettings capture_settings(const NamedTexts& options) { return resolve_capture(settings_of(options)); }

Side side_of(const std::string& kind) {
  if (kind == "q") return Side::query;
  if (kind == "k") return Side::key;
  throw Error(ErrorKind::usage, "kind must be q or k");
}

nb::tuple positions_and_buckets(std::size_t length, std::uint64_t document, int layer, const std::string& kind,
                                const NamedTexts& options) {
  SampledPositions sampled = sampled_positions(capture_settings(options), length, document, layer, side_of(kind));
  return nb::make_tuple(owned_array(std::move(sampled.positions)), owned_array(std::move(sampled.buckets)));
}

nb::tuple position_arrays(LayerPositions sampled) {
  return nb::make_tuple(owned_array(std::move(sampled.queries.positions)),
                        owned_array(std::move(sampled.keys.positions)));
}

nb::tuple head_lists(const LayerHeads& heads) { return nb::make_tuple(heads.queries, heads.keys); }

// A writer that can be closed before Python forgets it.
class Writer {
 public:
  Writer(const std::filesystem::path& folder, const nb::dict& model, const std::string& texts_digest,
         const NamedTexts& options) {
    const CaptureSettings settings = capture_settings(options);
    CapturedModel captured = model_of(model);
    const nb::gil_scoped_release release;
    writer_ = std::make_unique<DumpWriter>(folder, settings, std::move(captured), texts_digest);
  }

  DumpWriter& open() const {
    if (!writer_) throw Error(ErrorKind::usage, "the writer is closed");
    return *writer_;
  }
  void add(std::uint64_t document, int layer, const AnyArray& queries, const AnyArray& keys) const {
    const TensorView query_view = tensor_view(queries, "queries");
    const TensorView key_view = tensor_view(keys, "keys");
    const nb::gil_scoped_release release;
    open().add(document, layer, query_view, key_view);
  }
  void end_document(std::uint64_t document) const {
    const nb::gil_scoped_release release;
    open().end_document(document);
  }
  std::filesystem::path finish(const std::map<std::string, std::string>& files) const {
    const nb::gil_scoped_release release;
    return open().finish(files);
  }
  void close() { writer_.reset(); }

 private:
  std::unique_ptr<DumpWriter> writer_;
};

// Arrays that keep the rows of their layer alive.
nb::dict row_arrays(const std::shared_ptr<const LayerRows>& rows, std::size_t head) {
  using Kept = std::shared_ptr<const LayerRows>;
  const nb::capsule owner(new Kept(rows), [](void* kept) noexcept { delete static_cast<Kept*>(kept); });
  const RowsView view = rows->view(head);
  const std::size_t size = view.size();
  const auto column = [&](const auto& values) {
    using T = std::remove_cvref_t<decltype(values[0])>;
    return nb::cast(nb::ndarray<nb::numpy, const T>(values.data(), {size}, owner));
  };
  nb::dict arrays;
  arrays["vector"] = nb::cast(nb::ndarray<nb::numpy, const float>(view.vectors.data(), {size, view.width}, owner));
  arrays["position"] = column(view.position);
  arrays["bucket"] = column(view.bucket);
  arrays["example_id"] = column(view.example);
  arrays["sliding_window"] = view.window;
  return arrays;
}

nb::dict take_heads(CapturedRows& rows) {
  std::vector<std::shared_ptr<const LayerRows>> layers;
  {
    const nb::gil_scoped_release release;
    layers = rows.take();
  }
  nb::dict heads;
  for (std::size_t i = 0; i < layers.size(); i += 2) {
    const LayerRows& queries = *layers[i];
    const LayerRows& keys = *layers[i + 1];
    std::map<int, nb::dict> key_arrays;
    for (std::size_t k = 0; k < keys.heads.size(); ++k) key_arrays[keys.heads[k]] = row_arrays(layers[i + 1], k);
    const CapturedLayer& shape = rows.progress().model().layers[static_cast<std::size_t>(queries.layer)];
    for (std::size_t q = 0; q < queries.heads.size(); ++q) {
      const int k_head = queries.heads[q] / (shape.q_heads / shape.k_heads);
      heads[nb::make_tuple(queries.layer, queries.heads[q], k_head)] =
          nb::make_tuple(row_arrays(layers[i], q), key_arrays.at(k_head));
    }
  }
  return heads;
}

void bind_writer(nb::module_& module) {
  nb::class_<Writer>(module, "DumpWriter", "Writes a dump from queries and keys, document by document.")
      .def(nb::init<const std::filesystem::path&, const nb::dict&, const std::string&, const NamedTexts&>(), "folder"_a,
           "model"_a, "texts_digest"_a, "options"_a)
      .def_prop_ro(
          "is_complete", [](const Writer& self) { return self.open().is_complete(); },
          "True: the dump was there already.")
      .def_prop_ro(
          "finished", [](const Writer& self) { return self.open().finished(); },
          "Documents that need not be handed over again.")
      .def(
          "heads", [](const Writer& self, int layer) { return head_lists(self.open().heads(layer)); }, "layer"_a,
          nb::sig("def heads(self, layer: int) -> tuple[list[int], list[int]]"),
          "Query heads and key heads that are captured; none: the layer is not.")
      .def(
          "begin_document",
          [](const Writer& self, std::uint64_t document, std::size_t length) {
            self.open().begin_document(document, length);
          },
          "document"_a, "length"_a, "Opens a document of so many tokens.")
      .def(
          "positions",
          [](const Writer& self, std::uint64_t document, int layer) {
            return position_arrays(self.open().positions(document, layer));
          },
          "document"_a, "layer"_a,
          nb::sig("def positions(self, document: int, layer: int) -> tuple[typing.Any, typing.Any]"),
          "Positions of the queries and of the keys that are captured.")
      .def("add", &Writer::add, "document"_a, "layer"_a, "queries"_a, "keys"_a,
           nb::sig("def add(self, document: int, layer: int, queries: typing.Any, keys: typing.Any) -> None"),
           "Adds the vectors at these positions: heads by positions by components.")
      .def("end_document", &Writer::end_document, "document"_a, "The document is whole, and stays so.")
      .def("finish", &Writer::finish, "files"_a = std::map<std::string, std::string>(),
           "Writes the dump, with these texts by name in it, and returns its folder.")
      .def(
          "discard", [](const Writer& self) { self.open().discard(); }, "Forgets an unfinished capture.")
      .def("close", &Writer::close, "Keeps what was captured for the next writer.");
}

void bind_rows(nb::module_& module) {
  nb::class_<CapturedRows>(module, "DumpRows", "Rows as DumpWriter takes them, kept in memory.")
      .def(
          "__init__",
          [](CapturedRows* self, const nb::dict& model, const NamedTexts& options) {
            new (self) CapturedRows(capture_settings(options), model_of(model));
          },
          "model"_a, "options"_a)
      .def(
          "heads", [](const CapturedRows& self, int layer) { return head_lists(self.progress().heads(layer)); },
          "layer"_a, nb::sig("def heads(self, layer: int) -> tuple[list[int], list[int]]"))
      .def("begin_document", &CapturedRows::begin_document, "document"_a, "length"_a)
      .def(
          "positions",
          [](const CapturedRows& self, std::uint64_t document, int layer) {
            return position_arrays(self.progress().positions(document, layer));
          },
          "document"_a, "layer"_a,
          nb::sig("def positions(self, document: int, layer: int) -> tuple[typing.Any, typing.Any]"))
      .def(
          "add",
          [](CapturedRows& self, std::uint64_t document, int layer, const AnyArray& queries, const AnyArray& keys) {
            const TensorView query_view = tensor_view(queries, "queries");
            const TensorView key_view = tensor_view(keys, "keys");
            const nb::gil_scoped_release release;
            self.add(document, layer, query_view, key_view);
          },
          "document"_a, "layer"_a, "queries"_a, "keys"_a,
          nb::sig("def add(self, document: int, layer: int, queries: typing.Any, keys: typing.Any) -> None"))
      .def("end_document", &CapturedRows::end_document, "document"_a)
      .def("take", &take_heads,
           nb::sig("def take(self) -> dict[tuple[int, int, int], tuple[dict[str, typing.Any], dict[str, typing.Any]]]"),
           "The rows of layer, q_head and k_head: queries and keys, as analyze takes them. Takes them out.");
}

}  // namespace
}  // namespace attention_plasticity::python

NB_MODULE(_capture, module) {
  using namespace attention_plasticity;
  using namespace attention_plasticity::python;
  module.doc() = "Dumps, rows in memory and labels of heads, from the queries and keys of any model.";
  nb::module_::import_("attention_plasticity._core");
  module.def(
      "fields", [] { return list_of_fields(capture_table()); }, nb::sig("def fields() -> list[dict[str, typing.Any]]"),
      "Every setting of a capture.");
  module.def(
      "sampled_positions", &positions_and_buckets, "length"_a, "document"_a, "layer"_a, "kind"_a, "options"_a,
      nb::sig("def sampled_positions(length: int, document: int, layer: int, kind: str, options: "
              "collections.abc.Sequence[tuple[str, str | None]]) -> tuple[typing.Any, typing.Any]"),
      "Positions of a document that are captured, of the queries (q) or keys (k) of a layer, and their buckets.");
  module.def(
      "check_lengths",
      [](const std::vector<std::size_t>& lengths, const NamedTexts& options) {
        require_two_buckets(capture_settings(options), lengths);
      },
      "lengths"_a, "options"_a, "Raises InputError when no document reaches beyond its first bucket.");
  bind_writer(module);
  bind_rows(module);
  bind_labels(module);
}
