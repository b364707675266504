#pragma once

#include <filesystem>
#include <string_view>

#include "attention_plasticity/base/descriptor.h"

namespace attention_plasticity {

/// The time at which a file is flushed to disk: before it gets its name, so it is whole after a loss of power, or
/// later.
enum class Durability { synced, unsynced };

/// A file that appears whole. Its content is written to a temporary file in the folder of the target, and `commit`
/// gives it the target's name: a reader sees the old file or the new one. A file that is replaced hands its
/// permissions on, and its owner where the system allows that. Where the target is a symbolic link, the file that it
/// points to is replaced and the link stays. All members throw Error(output), which names the target (or the folder
/// that cannot be made) and the system's reason.
///
///     AtomicFile file(target);
///     file.append(text);  // or let a writer of its own fill file.temporary() and close it
///     file.commit();
class AtomicFile {
 public:
  /// Creates missing folders and an empty temporary file with a random name. Throws when the target is a folder, or a
  /// device or pipe, which a rename would replace.
  explicit AtomicFile(std::filesystem::path target, Durability durability = Durability::synced);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;
  /// Removes the temporary file unless it was committed.
  ~AtomicFile();

  const std::filesystem::path& target() const { return target_; }
  /// The file that holds the content until `commit`; empty after it.
  const std::filesystem::path& temporary() const { return temporary_; }

  /// Adds to the content, through a buffer.
  void append(std::string_view bytes) { file_.append(bytes); }
  /// Flushes the content to disk and renames the temporary file to the target. To be called once.
  void commit();

  /// `commit` in two steps, for several files that appear together: `flush` brings the content of each to disk, and
  /// `rename` then gives it its name, which stays after a loss of power once the folder is synced (sync_folder).
  void flush() { file_.sync(); }
  void rename();
  /// The folder in which the file appears.
  std::filesystem::path folder() const { return final_.parent_path(); }

 private:
  std::filesystem::path target_;
  std::filesystem::path final_;  // the target, or the file that it links to
  std::filesystem::path temporary_;
  Durability durability_;
  FileWriter file_;
};

/// Replaces or creates `target` with the bytes of `content`, or throws and leaves it as it was; see AtomicFile.
void write_file_atomically(const std::filesystem::path& target, std::string_view content,
                           Durability durability = Durability::synced);

/// Creates a folder and its parents where they are missing. Throws Error(output).
void make_output_folder(const std::filesystem::path& folder, Durability durability = Durability::synced);

/// Returns the path that `target` leads to through symbolic links of its last name; it may not exist. Throws
/// Error(output) for links that go in circles.
std::filesystem::path linked_target(const std::filesystem::path& target);

/// Throws Error(output), which names `target`, when `file` is a folder, a device or a pipe, or cannot be looked at.
void require_file_or_nothing(const std::filesystem::path& file, const std::filesystem::path& target);

/// Removes the temporary files in `folder` whose writers ended without doing so. A file that is still being written
/// is locked (flock) by its writer and stays.
void remove_stale_temporary_files(const std::filesystem::path& folder);

}  // namespace attention_plasticity
