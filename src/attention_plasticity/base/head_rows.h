#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attention_plasticity/base/large_vector.h"
#include "attention_plasticity/rows.h"

namespace attention_plasticity {

/// The rows of a RowsView, owned: those that were read from a file, generated, or copied. The code that fills them must
/// check what RowsView promises.
struct HeadRows {
  std::size_t width = 0;
  std::vector<std::int64_t> bucket;
  std::vector<std::uint64_t> example;
  std::vector<double> position;
  LargeVector<float> vectors;  ///< rows adjoin
  std::optional<double> window;

  std::size_t size() const { return position.size(); }
  std::span<const float> row(std::size_t i) const { return {vectors.data() + i * width, width}; }
  // NOLINTNEXTLINE(google-explicit-constructor): rows are passed to whoever reads them, as a vector is to a span
  operator RowsView() const { return {width, bucket, example, position, vectors, width, window}; }
};

}  // namespace attention_plasticity
