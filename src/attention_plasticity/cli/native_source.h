#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "attention_plasticity/capture/llama/llama_capture.h"
#include "attention_plasticity/cli/arguments.h"
#include "attention_plasticity/cli/progress.h"

// What capture and study of GGUF files share.

namespace attention_plasticity {

inline constexpr const char* labels_file = "head_labels.csv";

/// Loads the model and the texts that the flags name, and checks them. Sets what the settings leave open.
LlamaSource native_source(const Arguments& arguments, CaptureSettings& settings);

/// Shows how far the texts are read, with the tokens of a second and the time that is left.
class ReadingDisplay {
 public:
  explicit ReadingDisplay(Progress& progress) : progress_(progress) {}

  void show(const CapturedSoFar& now);
  /// "16384 tokens read, 210 tokens/s"; empty: nothing was read.
  std::string summary() const;

 private:
  Progress& progress_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double last_line_ = 0;  // seconds
  std::uint64_t tokens_ = 0;
};

/// Labels of the heads; none: `stop` was requested.
std::optional<AttentionLabels> native_labels(LlamaSource& source, Progress& progress, const std::stop_token& stop);

}  // namespace attention_plasticity
