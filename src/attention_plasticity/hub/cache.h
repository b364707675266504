#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/hub/answers.h"

namespace attention_plasticity {

/// The part of the Hub's cache that belongs to one dataset, in the layout of the Python client:
///
///     .locks/datasets--org--name/ETAG.lock
///     datasets--org--name/blobs/ETAG                       content
///     datasets--org--name/refs/REVISION                    the commit it stands for
///     datasets--org--name/snapshots/COMMIT/path/of/file -> ../../../../blobs/ETAG
///
/// Other files in these folders belong to other programs and are not touched. A failure to write throws Error(output).
class HubCache {
 public:
  HubCache(std::filesystem::path cache, const std::string& repo, bool use_symlinks);

  const std::filesystem::path& root() const { return cache_; }
  std::filesystem::path snapshot(const std::string& commit) const { return folder_ / "snapshots" / commit; }
  std::filesystem::path file(const std::string& commit, const std::string& path) const {
    return snapshot(commit) / path;
  }
  std::filesystem::path blob(const std::string& etag) const { return folder_ / "blobs" / etag; }
  /// The bytes of a blob that have arrived so far.
  std::filesystem::path partial_blob(const std::string& etag) const;
  std::filesystem::path lock_file(const std::string& etag) const;

  /// The commit that a branch or tag named when it was last looked up; for a commit, that commit itself.
  std::optional<std::string> commit_of(const std::string& revision) const;
  /// Records the commit of a branch or tag; does nothing when `revision` is the commit itself.
  void set_commit(const std::string& revision, const std::string& commit) const;

  bool holds_file(const std::string& commit, const std::string& path) const;
  bool holds_blob(const std::string& etag) const;
  /// The paths of all files of a snapshot, sorted.
  std::vector<std::string> paths(const std::string& commit) const;

  /// Creates the folders of blobs and refs, and CACHEDIR.TAG, which tells backups to skip the cache.
  void prepare() const;
  /// Makes a blob the content of a file: by a link, or where the file system has no links, by a copy. A blob with
  /// `is_new` is moved instead of copied: no other file uses it yet.
  void place(const std::string& etag, const std::string& commit, const std::string& path, bool is_new) const;

  /// Removes a file and the blob that is its content.
  void remove(const std::string& etag, const std::string& commit, const std::string& path) const;

 private:
  std::filesystem::path cache_;
  std::filesystem::path folder_;
  std::filesystem::path locks_;
  bool use_symlinks_;
};

/// Computes the digest of a file piece by piece: the SHA-256 of the content of a large file, Git's SHA-1 of the blob
/// object of a small one. The Hub lists the same digest as the file's etag.
class ContentDigest {
 public:
  explicit ContentDigest(const RepoFile& file);

  /// Forgets what was added.
  void reset();
  void add(std::string_view bytes) { digest_.add(bytes); }
  /// The digest of all bytes added since the last reset: hexadecimal, in lower case. Call `reset` before adding more.
  std::string finish() { return digest_.finish(); }

 private:
  Digest digest_;
  std::string prefix_;  // counts before the content
};

/// Compares a file on disk with the size and the digest that the Hub lists. Throws Error(input) when it
/// cannot be read, and Stopped.
bool has_digest(const std::filesystem::path& content, const RepoFile& file, const std::stop_token& stop);

}  // namespace attention_plasticity
