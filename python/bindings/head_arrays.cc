#include "head_arrays.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "attention_plasticity/base/half_float.h"
#include "attention_plasticity/error.h"

namespace nb = nanobind;

namespace attention_plasticity::python {
namespace {

using Bits = std::uint16_t;

float from_float(float value) { return value; }

template <class Stored, class Widen>
nb::object widened(const AnyArray& array, Widen widen) {
  const std::size_t rows = array.shape(0);
  const std::size_t width = array.shape(1);
  // NumPy frees it with the last array that shows it.
  auto values = std::make_unique_for_overwrite<float[]>(rows * width);
  const auto* source = static_cast<const Stored*>(array.data());
  {
    const nb::gil_scoped_release release;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < width; ++c) {
        const std::int64_t place =
            static_cast<std::int64_t>(r) * array.stride(0) + static_cast<std::int64_t>(c) * array.stride(1);
        values[r * width + c] = widen(source[place]);
      }
    }
  }
  float* const memory = values.release();
  const nb::capsule owner(memory, [](void* block) noexcept { delete[] static_cast<float*>(block); });
  return nb::cast(nb::ndarray<nb::numpy, float>(memory, {rows, width}, owner));
}

}  // namespace

nb::object float32_rows(const AnyArray& array) {
  if (array.ndim() != 2) {
    throw Error(ErrorKind::input,
                fmt::format("vectors have {} dimensions; they should have two, tokens and components", array.ndim()));
  }
  const nb::dlpack::dtype type = array.dtype();
  const auto is = [&](nb::dlpack::dtype_code code, int bits) {
    return type.code == static_cast<std::uint8_t>(code) && type.bits == bits && type.lanes == 1;
  };
  if (is(nb::dlpack::dtype_code::Float, 32)) {
    const bool rows_are_whole = array.shape(1) <= 1 || array.stride(1) == 1;
    if (!rows_are_whole || (array.shape(0) > 1 && array.stride(0) < static_cast<std::int64_t>(array.shape(1)))) {
      return widened<float>(array, from_float);
    }
    return nb::cast(nb::ndarray<nb::numpy, const float>(array));
  }
  if (is(nb::dlpack::dtype_code::Float, 16)) return widened<Bits>(array, float_of_half);
  if (is(nb::dlpack::dtype_code::Bfloat, 16)) return widened<Bits>(array, float_of_bfloat16);
  if (is(nb::dlpack::dtype_code::Float, 64)) {
    throw Error(ErrorKind::input,
                "vectors are float64, and the analysis reads single precision; round them yourself with "
                ".astype('float32') or .float()");
  }
  throw Error(ErrorKind::input, "vectors should be float32, float16 or bfloat16");
}

HeadArrays::HeadArrays(VectorArray vectors, ColumnArray<double> position, ColumnArray<std::int64_t> bucket,
                       std::optional<ColumnArray<std::uint64_t>> example, std::optional<double> window)
    : vectors_(std::move(vectors)),
      position_(std::move(position)),
      bucket_(std::move(bucket)),
      example_(std::move(example)) {
  const std::size_t rows = vectors_.shape(0);
  const auto require = [&](std::size_t length, const char* column) {
    if (length != rows) {
      throw Error(ErrorKind::input, fmt::format("{} has {} rows, the vectors have {}", column, length, rows));
    }
  };
  require(position_.shape(0), "position");
  require(bucket_.shape(0), "bucket");
  if (example_) require(example_->shape(0), "example_id");
  view_.width = vectors_.shape(1);
  view_.position = {position_.data(), rows};
  view_.bucket = {bucket_.data(), rows};
  if (example_) view_.example = {example_->data(), rows};
  view_.row_stride = rows > 1 ? static_cast<std::size_t>(vectors_.stride(0)) : view_.width;
  const std::size_t floats = rows == 0 ? 0 : (rows - 1) * view_.row_stride + view_.width;
  view_.vectors = {vectors_.data(), floats};
  view_.window = window;
}

}  // namespace attention_plasticity::python
