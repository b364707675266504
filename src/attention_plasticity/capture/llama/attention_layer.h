#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "attention_plasticity/capture/attention_labels.h"
#include "attention_plasticity/capture/captured_model.h"
#include "attention_plasticity/capture/llama/rope_parameters.h"

namespace attention_plasticity {

/// The attention of one layer, as the graph of a model says it.
struct AttentionLayer {
  int q_heads = 0;  ///< 0: the layer has no attention
  int k_heads = 0;
  std::size_t width = 0;
  std::optional<int> window{};
  double scale = 1;    ///< of q·k
  double softcap = 0;  ///< 0: none
  std::vector<float> sinks{};
  std::optional<RopeParameters> rope{};  ///< none: the layer does not rotate

  CapturedLayer shape() const { return {q_heads, k_heads, width, window}; }
  /// Borrows the sinks.
  AttentionRule rule() const {
    AttentionRule rule{scale, softcap, sinks, {}};
    if (window) rule.window = static_cast<std::size_t>(*window);
    return rule;
  }
};

/// The heads of the layer with most of them.
struct HeadCounts {
  int queries = 0;
  int keys = 0;
};
inline HeadCounts largest_head_counts(const std::vector<AttentionLayer>& layers) {
  HeadCounts most;
  for (const AttentionLayer& layer : layers) {
    most.queries = std::max(most.queries, layer.q_heads);
    most.keys = std::max(most.keys, layer.k_heads);
  }
  return most;
}

}  // namespace attention_plasticity
