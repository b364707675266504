#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "attention_plasticity/capture/llama/llama_capture.h"
#include "attention_plasticity/cli/arguments.h"
#include "attention_plasticity/cli/progress.h"
#include "attention_plasticity/cli/signals.h"

// What capture and study of GGUF files share.

namespace attention_plasticity {

inline constexpr const char* labels_file = "head_labels.csv";

/// Stops a command on a signal. Until `begin`, a signal ends the program at once, with the exit code 128 + its number:
/// libllama does not stop while it loads and checks a model, and nothing is written yet. Afterwards it is a stop
/// request. Create it before any other thread starts.
class NativeStop {
 public:
  NativeStop();

  /// From here on the command ends in order. To be called once.
  void begin();
  std::stop_token token() const { return signals_.token(); }
  int signal() const { return signals_.signal(); }

 private:
  void on_signal();

  std::mutex mutex_;
  bool has_begun_ = false;
  StopOnSignal signals_;  // last: its thread uses the others
};

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
  double last_line_ = 0;  // seconds, as the next one
  double last_shown_ = 0;
  std::uint64_t tokens_ = 0;
};

/// Labels of the heads; none: `stop` was requested.
std::optional<AttentionLabels> native_labels(LlamaSource& source, Progress& progress, const std::stop_token& stop);

}  // namespace attention_plasticity
