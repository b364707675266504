#pragma once

#include <filesystem>
#include <string_view>

namespace attention_plasticity {

/// A file that appears whole. Its content is written under a temporary name in the folder of the target, and `commit`
/// gives it the target's name: a reader sees the old file or the new one. All members throw Error(output), which names
/// the target (or the folder that cannot be made) and the system's reason.
///
///     AtomicFile file(target);
///     file.write(text);  // or let a writer of its own fill file.temporary() and close it
///     file.commit();
class AtomicFile {
 public:
  /// Creates missing folders, but no file yet. Throws when the target is a folder, or a device or pipe, which a rename
  /// would replace. No other thread or process uses the same temporary name.
  explicit AtomicFile(std::filesystem::path target);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;
  /// Removes the temporary file unless it was committed.
  ~AtomicFile();

  const std::filesystem::path& target() const { return target_; }
  /// The path that holds the content until `commit`; empty after it.
  const std::filesystem::path& temporary() const { return temporary_; }

  /// Writes `content` to the temporary file, replaces what was there, and flushes it to disk.
  void write(std::string_view content);
  /// Flushes the temporary file to disk, unless `write` did, and renames it to the target. To be called once.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  bool is_flushed_ = false;
};

/// Replaces or creates `target` with the bytes of `content`, or throws and leaves it as it was; see AtomicFile.
void write_file_atomically(const std::filesystem::path& target, std::string_view content);

}  // namespace attention_plasticity
