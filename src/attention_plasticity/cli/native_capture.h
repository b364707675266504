#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "attention_plasticity/cli/arguments.h"

// capture and study of GGUF files by the program itself. A program without libllama has native_capture_absent.cc in
// place of the other files of this name and of native_study.cc and native_source.cc.

namespace attention_plasticity {

/// Whether the program has libllama.
bool has_native_capture();

/// Run the commands; return the exit code. Their flags are those of cli/model_flags.h and of capture_table.
int run_native_capture(const Arguments& arguments);
int run_native_study(const Arguments& arguments);

/// A dump that was captured.
struct NativeDump {
  std::filesystem::path folder;
  std::size_t documents = 0;
  std::string model;
  std::string summary;    ///< what was read, and how fast; empty: nothing
  int signal = 0;         ///< that came meanwhile; 0: none
  bool is_whole = false;  ///< false: a signal has come, which the user was told of
};

inline constexpr const char* dump_interrupted =
    "attention-plasticity: interrupted; the same command goes on where it stopped\n";

/// Captures into a folder, until a signal comes.
NativeDump capture_natively(const Arguments& arguments, const std::filesystem::path& output, bool with_labels,
                            bool quiet);

}  // namespace attention_plasticity
