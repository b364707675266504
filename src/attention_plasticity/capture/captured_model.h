#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/capture/capture_settings.h"
#include "attention_plasticity/dump/layout.h"

namespace attention_plasticity {

/// The attention of one layer.
struct CapturedLayer {
  int q_heads = 0;  ///< a multiple of k_heads; 0: the layer has no attention
  int k_heads = 0;
  std::size_t width = 0;      ///< components of a query or key
  std::optional<int> window;  ///< sliding window in tokens; none: full attention
};

/// The model that queries and keys come from.
struct CapturedModel {
  std::string name;
  std::string config;                 ///< the text of its config.json, written into the dump as it is; empty: none
  std::string source;                 ///< what the texts are called; may be empty
  std::vector<CapturedLayer> layers;  ///< all layers of the model
  std::string weights{};              ///< a digest that tells weights apart; empty: not known
};

/// The heads of a layer that are captured, ascending; none: the layer is not captured.
struct LayerHeads {
  std::vector<int> queries;
  std::vector<int> keys;
};

/// For each layer of the model the heads that the settings choose: of a layer with attention the query heads `heads`,
/// and the key heads that they read. Throws Error(usage) when the model has no layer or head of a number in the
/// settings, no layer with attention is left, or the layers are impossible.
std::vector<LayerHeads> chosen_heads(const CaptureSettings& settings, const CapturedModel& model);

/// The heads of one side.
inline const std::vector<int>& heads_of(const LayerHeads& heads, Side side) {
  return side == Side::query ? heads.queries : heads.keys;
}

}  // namespace attention_plasticity
