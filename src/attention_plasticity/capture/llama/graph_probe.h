#pragma once

#include <exception>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/capture/llama/attention_layer.h"
#include "attention_plasticity/capture/llama/graph_reader.h"

namespace attention_plasticity {

/// What one pass over some tokens shows of a layer's attention.
struct ProbedLayer {
  AttentionLayer layer;
  int met = 0;                   ///< how often the layer compared queries with keys
  VisibleKeys visible;           ///< of the first and the last token; all when there is no mask
  double distance_bias = 0;      ///< ALiBi; 0: none
  bool logit_bias = false;       ///< something is added to the logits
  bool q_weights_after = false;  ///< weights act on queries after their rotation
  bool k_weights_after = false;
  bool rotated_alike = true;  ///< queries and keys have the same rotation
  bool has_cache = false;     ///< keys come from a cache, whose cells are those of the tokens
  /// 1 - cosine between what was captured and the vector before the rotation, rotated to its position, at worst; for
  /// keys without rotation, between the cells of the cache and what was written. None: not compared.
  std::optional<double> q_error;
  std::optional<double> k_error;
};

/// Looks at a graph node by node while it is computed, over one batch of tokens.
class GraphProbe {
 public:
  void batch(int first, int count);
  /// As ggml_backend_sched_eval_callback.
  bool see(ggml_tensor* node, bool ask);
  /// By layer. Throws what went wrong.
  const std::map<int, ProbedLayer>& layers() const;

 private:
  // The vectors that a node rotates, before it does: [tokens x heads x components], and their positions.
  struct Unrotated {
    std::vector<float> vectors;
    std::vector<std::int32_t> positions;
    std::size_t heads = 0;
    std::size_t width = 0;
  };

  void ask_for(const ggml_tensor* node);
  void look_at(const ggml_tensor* node);
  void look_at_softmax(const ggml_tensor* node);
  void describe(ProbedLayer& probed, const ggml_tensor* node, const AttentionInputs& inputs);
  void read_mask(ProbedLayer& probed, const ggml_tensor* mask) const;
  std::optional<double> rotation_error(const RotatingNode& rotating, const ggml_tensor* captured, int origin);
  std::optional<double> cache_error(const ggml_tensor* keys);

  int first_ = 0;
  int count_ = 0;
  int layer_ = -1;
  RowReader reader_;
  std::map<int, ProbedLayer> layers_;
  std::map<const ggml_tensor*, Unrotated> unrotated_;
  std::map<const ggml_tensor*, const ggml_tensor*> written_;          // cache tensor to the node written into it
  std::map<const ggml_tensor*, std::vector<float>> written_numbers_;  // the same, [tokens x (heads x components)]
  std::exception_ptr failure_;
};

}  // namespace attention_plasticity
