#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "attention_plasticity/capture/llama/llama_model.h"

struct ggml_tensor;
struct llama_context;

namespace attention_plasticity {

struct ContextOptions {
  int tokens = 0;  ///< of all texts that are read at once
  int texts = 1;   ///< that are read at once, at most
  int threads = 1;
  bool exact = false;  ///< attention in single steps and keys of 32 bits, instead of 16
};

/// Watches a graph while it is computed.
struct GraphWatcher {
  /// The next graph reads `count` tokens from `first` on, numbered through all texts.
  std::function<void(int first, int count, bool is_last)> batch;
  /// As ggml_backend_sched_eval_callback: with `ask`, whether the node is to be seen once it is computed; then whether
  /// to go on. Must not throw.
  std::function<bool(ggml_tensor* node, bool ask)> see;
};

/// A model at work. Keys lie in a cache with a cell for every token, in their order, and are never quantised: libllama
/// rotates the vectors of a quantised cache by a matrix of its own.
class LlamaContext {
 public:
  /// Throws Error(input) when there is not enough memory, or the model cannot be run.
  LlamaContext(const LlamaModel& model, const ContextOptions& options);
  ~LlamaContext();
  LlamaContext(const LlamaContext&) = delete;
  LlamaContext& operator=(const LlamaContext&) = delete;

  /// Reads texts, each as if it stood alone. False: `stop` was requested. Throws Error(input) when libllama fails.
  bool read(std::span<const std::span<const std::int32_t>> texts, const GraphWatcher& watcher,
            const std::stop_token& stop = {});
  /// Reads one text without computing anything but its last `computed` tokens, which go into a batch of their own: for
  /// what depends on positions alone.
  void skim(std::span<const std::int32_t> text, int computed, const GraphWatcher& watcher);

  const ContextOptions& options() const { return options_; }
  /// Tokens of a batch.
  static constexpr int batch_tokens = 512;

 private:
  struct State;

  bool decode(std::span<const std::int32_t> ids, std::span<const std::int32_t> positions,
              std::span<const std::int32_t> texts);

  const LlamaModel& model_;
  ContextOptions options_;
  std::unique_ptr<State> state_;
};

}  // namespace attention_plasticity
