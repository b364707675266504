#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "attention_plasticity/capture/captured_model.h"
#include "attention_plasticity/capture/position_sampler.h"
#include "attention_plasticity/capture/tensor_view.h"

namespace attention_plasticity {

/// The positions of a document's layer that are captured.
struct LayerPositions {
  SampledPositions queries;
  SampledPositions keys;
};

/// The part of a capture that a dump on disk and rows in memory share: which heads and positions of a document a source
/// has to hand over, and whether what it hands over is that. Not to be used by two threads at once.
class CaptureProgress {
 public:
  /// Throws Error(usage) as chosen_heads does.
  CaptureProgress(CaptureSettings settings, CapturedModel model);

  const CaptureSettings& settings() const { return settings_; }
  const CapturedModel& model() const { return model_; }
  /// For each layer.
  const std::vector<LayerHeads>& heads() const { return heads_; }
  /// Throws Error(usage) for a number that is none of a layer.
  const LayerHeads& heads(int layer) const;

  /// Opens a document. Throws Error(usage) when it is open already or longer than max_length, Error(input) when empty.
  void begin(std::uint64_t document, std::size_t length);
  /// Of a document that is open.
  LayerPositions positions(std::uint64_t document, int layer) const;
  /// Throws Error(usage) unless the document is open, the layer is captured and was not added yet, and the tensors have
  /// its shape, one type, and Error(input) when a number is not finite.
  void check(std::uint64_t document, int layer, const TensorView& queries, const TensorView& keys) const;
  /// The layer was added.
  void added(std::uint64_t document, int layer);
  /// Closes the document, and gives its length. Throws Error(usage) when a layer is missing.
  std::size_t end(std::uint64_t document);

 private:
  struct OpenDocument {
    std::size_t length = 0;
    std::set<int> layers;  // that were added
  };

  const OpenDocument& open(std::uint64_t document) const;

  CaptureSettings settings_;
  CapturedModel model_;
  std::vector<LayerHeads> heads_;
  std::map<std::uint64_t, OpenDocument> open_;
};

}  // namespace attention_plasticity
