#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/base/atomic_file.h"

namespace attention_plasticity {

/// Takes the next bytes of a file.
using Sink = std::function<void(std::string_view)>;

/// Files that appear whole and together: each is written under a temporary name beside its target, and `commit` renames
/// them. A reader sees the old file or the new one, and a failure before `commit` leaves all old files as they were.
/// All functions throw Error(output), naming the file and the system's reason.
class OutputFiles {
 public:
  /// Writes what `write` gives to its sink, piece by piece, beside `target`, and returns the SHA-256 of it. Missing
  /// folders are made. What `write` throws is passed on, and the target is then not staged.
  std::string stage(const std::filesystem::path& target, const std::function<void(const Sink&)>& write);
  /// The same for a content in memory.
  std::string stage(const std::filesystem::path& target, std::string_view content);
  void commit();

 private:
  std::vector<AtomicFile> staged_;
};

/// Throws Error(output) when `target` cannot be written. A run checks this before it starts, so that hours of work do
/// not end at a folder that cannot be written to.
void check_writable(const std::filesystem::path& target);

/// `x.partial.csv` for `x.csv`: the file in which an interrupted run leaves its finished heads.
std::filesystem::path partial_name(const std::filesystem::path& target);

}  // namespace attention_plasticity
