#pragma once

#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "attention_plasticity/capture/llama/attention_layer.h"
#include "attention_plasticity/capture/llama/graph_reader.h"
#include "attention_plasticity/capture/llama/taken_rows.h"

namespace attention_plasticity {

/// Takes queries and keys from a graph while it is computed, by the callback of the scheduler: queries from each batch
/// of tokens, keys from the cache when the last batch is there. A graph ends after the last layer that is wanted.
class AttentionTap {
 public:
  /// `deliver` gets the rows of a layer as soon as they are complete. `reader` must live as long: it holds memory of a
  /// GPU, which takes longer to get than a text to read.
  AttentionTap(const std::vector<AttentionLayer>& layers, RowReader& reader, DeliverRows deliver)
      : layers_(layers), reader_(reader), deliver_(std::move(deliver)) {}

  /// New texts, of which these rows are wanted, by layer.
  void begin(std::map<int, WantedRows> wanted);
  /// The next graph reads `count` tokens from `first` on; `is_last`: there are no more.
  void batch(int first, int count, bool is_last);
  /// As ggml_backend_sched_eval_callback. Throws nothing: what goes wrong is thrown by `check`.
  bool see(ggml_tensor* node, bool ask);
  /// Throws what went wrong, and Error(input) when a wanted layer was not met.
  void check() const;

 private:
  bool looked_at(ggml_tensor* node, bool ask);
  void take(const AttentionInputs& inputs, int layer);

  const std::vector<AttentionLayer>& layers_;
  RowReader& reader_;
  DeliverRows deliver_;
  std::map<int, WantedRows> wanted_;
  std::map<int, std::vector<std::vector<float>>> queries_;  // of the batches so far, by layer
  int first_ = 0;
  int count_ = 0;
  bool is_last_ = false;
  bool has_ended_ = false;  // the graph of this batch
  int layer_ = -1;          // that the nodes belong to
  std::vector<int> seen_;   // layers of this batch
  std::vector<float> scratch_;
  std::exception_ptr failure_;
};

}  // namespace attention_plasticity
