#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/capture/capture_progress.h"

namespace attention_plasticity {

/// The captured rows of the query heads, or the key heads, of one layer.
struct LayerRows {
  int layer = 0;
  std::vector<int> heads;            ///< numbers of the heads, ascending
  std::vector<std::int64_t> bucket;  ///< of each row, the same for all heads
  std::vector<std::uint64_t> example;
  std::vector<double> position;
  std::size_t width = 0;
  LargeVector<float> vectors;  ///< [heads x rows x components]
  std::optional<double> window;

  std::size_t rows() const { return position.size(); }
  /// Of the `index`-th of `heads`; borrows from this.
  RowsView view(std::size_t index) const;
};

/// Rows as DumpWriter takes them, kept in memory: those of a head are the ones that its dump would hold, in the same
/// order.
class CapturedRows {
 public:
  /// Throws as chosen_heads does.
  CapturedRows(const CaptureSettings& settings, CapturedModel model) : progress_(settings, std::move(model)) {}

  const CaptureProgress& progress() const { return progress_; }
  void begin_document(std::uint64_t document, std::size_t length);
  void add(std::uint64_t document, int layer, const TensorView& queries, const TensorView& keys);
  void end_document(std::uint64_t document);

  /// The rows of the documents that have ended, for each captured layer its queries and then its keys. Takes them out
  /// of this object. Throws Error(input) when a head has no rows or no document reaches beyond the first bucket.
  std::vector<std::shared_ptr<const LayerRows>> take();

 private:
  using Vectors = std::vector<LargeVector<float>>;  // by head
  struct Document {
    std::size_t length = 0;
    std::map<int, std::pair<Vectors, Vectors>> layers;  // queries and keys
  };

  std::shared_ptr<const LayerRows> layer_rows(int layer, Side side);

  CaptureProgress progress_;
  std::map<std::uint64_t, Document> open_;
  std::map<std::uint64_t, Document> ended_;
};

}  // namespace attention_plasticity
