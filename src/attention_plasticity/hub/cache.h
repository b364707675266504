#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attention_plasticity {

/// The part of the Hub's cache that belongs to one dataset, laid out as the Python client has it:
///
///     .locks/datasets--org--name/ETAG.lock
///     datasets--org--name/blobs/ETAG                       content
///     datasets--org--name/refs/REVISION                    the commit it stands for
///     datasets--org--name/snapshots/COMMIT/path/of/file -> ../../../../blobs/ETAG
///
/// Whatever else lies there is another program's, and left alone. Failures to write are Error(output).
class HubCache {
 public:
  HubCache(std::filesystem::path cache, const std::string& repo, bool use_symlinks);

  const std::filesystem::path& root() const { return cache_; }
  std::filesystem::path snapshot(const std::string& commit) const { return folder_ / "snapshots" / commit; }
  std::filesystem::path file(const std::string& commit, const std::string& path) const {
    return snapshot(commit) / path;
  }
  std::filesystem::path blob(const std::string& etag) const { return folder_ / "blobs" / etag; }
  /// What has arrived of a blob.
  std::filesystem::path partial_blob(const std::string& etag) const;
  std::filesystem::path lock_file(const std::string& etag) const;

  /// The commit that a branch or tag stood for when it was last looked up; a commit stands for itself.
  std::optional<std::string> commit_of(const std::string& revision) const;
  /// Notes that; a commit needs no note.
  void set_commit(const std::string& revision, const std::string& commit) const;

  bool holds_file(const std::string& commit, const std::string& path) const;
  bool holds_blob(const std::string& etag) const;
  /// All files of a snapshot, by path.
  std::vector<std::string> paths(const std::string& commit) const;

  /// Makes the folders that blobs go to, and the mark by which backups know a cache.
  void prepare() const;
  /// Makes a blob the content of a file: by a link, or by a copy where there are none. A blob that is `new` moves
  /// rather than being copied.
  void place(const std::string& etag, const std::string& commit, const std::string& path, bool is_new) const;

 private:
  std::filesystem::path cache_;
  std::filesystem::path folder_;
  std::filesystem::path locks_;
  bool use_symlinks_;
};

}  // namespace attention_plasticity
