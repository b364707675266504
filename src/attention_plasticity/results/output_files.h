#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attention_plasticity {

/// Files that appear whole and together: each is written to a temporary name beside its target and flushed to disk;
/// `commit` then renames them. A reader sees the old file or the new one, and a failure before `commit` leaves all old
/// files as they were. All functions throw Error(output), naming the file and the system's reason.
class OutputFiles {
 public:
  OutputFiles() = default;
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  /// Removes what was staged and not committed.
  ~OutputFiles();

  /// Writes `content` beside `target`. Missing folders are made.
  void stage(const std::filesystem::path& target, std::string_view content);
  void commit();

 private:
  struct Staged {
    std::filesystem::path temporary;
    std::filesystem::path target;
  };
  std::vector<Staged> staged_;
};

/// A run checks this before it starts: hours of work should not end at a folder that cannot be written to.
void check_writable(const std::filesystem::path& target);

/// `x.partial.csv` for `x.csv`: where an interrupted run leaves what it finished.
std::filesystem::path partial_name(const std::filesystem::path& target);

}  // namespace attention_plasticity
