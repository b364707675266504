#include "capture_tensors.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>

#include "attention_plasticity/error.h"

namespace nb = nanobind;

namespace attention_plasticity::python {
namespace {

template <class T>
T entry(const nb::dict& values, const char* name, const char* of) {
  if (!values.contains(name)) throw Error(ErrorKind::usage, fmt::format("{} has no {}", of, name));
  T value{};
  if (!nb::try_cast<T>(values[name], value)) {
    throw Error(ErrorKind::usage, fmt::format("{} of {} is of a wrong type", name, of));
  }
  return value;
}

ElementType element_type(nb::dlpack::dtype type, const char* what) {
  const auto is = [&](nb::dlpack::dtype_code code, int bits) {
    return type.code == static_cast<std::uint8_t>(code) && type.bits == bits && type.lanes == 1;
  };
  if (is(nb::dlpack::dtype_code::Float, 32)) return ElementType::float32;
  if (is(nb::dlpack::dtype_code::Float, 16)) return ElementType::float16;
  if (is(nb::dlpack::dtype_code::Bfloat, 16)) return ElementType::bfloat16;
  throw Error(ErrorKind::input, fmt::format("{} should be float32, float16 or bfloat16", what));
}

}  // namespace

TensorView tensor_view(const AnyArray& tensor, const char* what) {
  if (tensor.ndim() != 3) {
    throw Error(ErrorKind::input,
                fmt::format("{} have {} dimensions; they should have three: heads, tokens and components", what,
                            tensor.ndim()));
  }
  TensorView view;
  view.type = element_type(tensor.dtype(), what);
  view.data = tensor.data();
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    view.shape[i] = tensor.shape(i);
    view.stride[i] = tensor.stride(i);
  }
  return view;
}

CapturedModel model_of(const nb::dict& model) {
  CapturedModel captured;
  captured.name = entry<std::string>(model, "name", "the model");
  captured.config = entry<std::string>(model, "config", "the model");
  if (model.contains("source")) captured.source = entry<std::string>(model, "source", "the model");
  for (const nb::handle item : entry<nb::list>(model, "layers", "the model")) {
    nb::dict layer;
    if (!nb::try_cast<nb::dict>(item, layer)) throw Error(ErrorKind::usage, "a layer of the model is no dict");
    CapturedLayer shape;
    shape.q_heads = entry<int>(layer, "q_heads", "a layer");
    shape.k_heads = entry<int>(layer, "k_heads", "a layer");
    shape.width = entry<std::size_t>(layer, "width", "a layer");
    if (layer.contains("window")) shape.window = entry<std::optional<int>>(layer, "window", "a layer");
    captured.layers.push_back(shape);
  }
  return captured;
}

}  // namespace attention_plasticity::python
