#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/capture/captured_model.h"
#include "attention_plasticity/capture/documents.h"
#include "attention_plasticity/capture/llama/attention_layer.h"
#include "attention_plasticity/capture/llama/llama_context.h"
#include "attention_plasticity/capture/llama/llama_model.h"
#include "attention_plasticity/capture/llama/taken_rows.h"
#include "attention_plasticity/capture/texts.h"

namespace attention_plasticity {

class RowReader;

/// A GGUF model, and the texts that it reads.
struct LlamaSourceOptions {
  std::filesystem::path model;
  std::string texts;
  TextOptions text_options;
  LongTexts long_texts = LongTexts::cut;
  bool chat_template = false;
  std::size_t batch_size = 1;     ///< documents that are read at once
  std::optional<int> threads;     ///< none: one for each core
  std::optional<int> gpu_layers;  ///< none: all, if there is a GPU
  bool exact = false;
};

/// A model that was loaded and checked, and its documents. Queries and keys come from it.
class LlamaSource {
 public:
  /// Longest documents unless `max_length` says otherwise, where the model takes as many.
  static constexpr int usual_length = 4096;

  /// Loads the model, reads the texts and makes the check of probed_layers. Sets `max_length` of the settings where it
  /// is not set. Throws Error: input for texts, files and models that cannot be used, usage for settings.
  LlamaSource(const LlamaSourceOptions& options, CaptureSettings& settings);
  ~LlamaSource();
  LlamaSource(const LlamaSource&) = delete;
  LlamaSource& operator=(const LlamaSource&) = delete;

  const LlamaModel& model() const { return model_; }
  const std::vector<AttentionLayer>& layers() const { return layers_; }
  /// As a capture describes it.
  const CapturedModel& captured() const { return captured_; }
  const std::vector<std::vector<std::int32_t>>& documents() const { return documents_; }
  const std::string& texts_digest() const { return texts_digest_; }
  /// Documents that are read at once, at most.
  std::size_t batch_size() const { return static_cast<std::size_t>(context_->options().texts); }

  /// Throws Error(input) when the rows take more memory than is free. Those of all layers are held at once while a text
  /// is read.
  void check_memory(const std::map<int, WantedRows>& wanted) const;

  /// Reads texts, and hands over the rows that are wanted, by layer. False: `stop` was requested.
  bool read(std::span<const std::span<const std::int32_t>> texts, std::map<int, WantedRows> wanted,
            const DeliverRows& deliver, const std::stop_token& stop);

 private:
  void tokenize(const LlamaSourceOptions& options, std::size_t max_length);
  std::size_t longest_document() const;
  ContextOptions context_options(const LlamaSourceOptions& options) const;

  std::vector<Text> texts_;
  LlamaModel model_;
  std::vector<std::vector<std::int32_t>> documents_;
  std::string texts_digest_;
  std::unique_ptr<LlamaContext> context_;
  std::vector<AttentionLayer> layers_;
  std::unique_ptr<RowReader> reader_;
  CapturedModel captured_;
};

}  // namespace attention_plasticity
