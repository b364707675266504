#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>

#include "attention_plasticity/rows.h"

namespace attention_plasticity::python {

/// Any array of a Python library in the memory of the CPU: through DLPack, or the buffer protocol.
using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;
using VectorArray = nanobind::ndarray<const float, nanobind::ndim<2>, nanobind::device::cpu>;
template <class T>
using ColumnArray = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

/// VectorArray as a NumPy array of float32, row after row. float32 is borrowed, wherever each row lies in one piece;
/// float16 and bfloat16 are widened into new memory, and so is float32 with gaps inside a row. Throws Error(input) for
/// other types, and for arrays that have not two dimensions.
nanobind::object float32_rows(const AnyArray& array);

/// The arrays of one head's queries or keys, held while the library reads them.
class HeadArrays {
 public:
  /// `example` may be missing. Throws Error(input) when columns differ in length.
  HeadArrays(VectorArray vectors, ColumnArray<double> position, ColumnArray<std::int64_t> bucket,
             std::optional<ColumnArray<std::uint64_t>> example, std::optional<double> window);

  const RowsView& view() const { return view_; }

 private:
  VectorArray vectors_;
  ColumnArray<double> position_;
  ColumnArray<std::int64_t> bucket_;
  std::optional<ColumnArray<std::uint64_t>> example_;
  RowsView view_;
};

}  // namespace attention_plasticity::python
