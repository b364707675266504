#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/hub.h"
#include "attention_plasticity/hub/answers.h"
#include "attention_plasticity/hub/cache.h"

namespace attention_plasticity {

/// A dataset at one commit: its files, and where they are or will be on disk.
class Snapshot {
 public:
  /// Looks up the revision on the Hub. Uses the cache instead when offline, and when the Hub cannot be reached and the
  /// cache has the revision; a line in `notes` then says so. Throws Error(usage) for a malformed name, the errors of
  /// HubClient, Error(input) for a revision that does not exist, with the nearest names, and Error(network) when
  /// offline and the revision is not cached.
  Snapshot(const HubSettings& settings, std::string repo, std::string revision, std::vector<std::string>& notes,
           const std::stop_token& stop);

  const std::string& repo() const { return repo_; }
  const std::string& revision() const { return revision_; }
  const std::string& commit() const { return commit_; }
  /// The paths of all its files; only of cached files when is_from_cache().
  const std::vector<std::string>& paths() const { return paths_; }
  /// True if the revision was looked up in the cache only.
  bool is_from_cache() const { return from_cache_; }
  std::filesystem::path folder() const { return cache_.snapshot(commit_); }
  bool has(const std::string& path) const { return cache_.holds_file(commit_, path); }

  /// The files among `paths` that are not on disk, with sizes and digests from the Hub's listing, in the given order.
  /// Throws Error(network) when a file is missing and is_from_cache().
  std::vector<RepoFile> missing(const std::vector<std::string>& paths, const std::stop_token& stop);

  /// Checks those of these files that are on disk against the digests that the Hub names, or offline against their
  /// names in the cache. A wrong one is removed, so that it is missing, and named in `notes`. Throws Error(network)
  /// when a file is wrong, or has no digest, and is_from_cache(); Error(output) when it cannot be removed.
  void verify(const std::vector<std::string>& paths, std::vector<std::string>& notes, const std::stop_token& stop);

  /// Records the commit of the revision in the cache. Does nothing when the cache cannot be written.
  void note_revision() const;

  /// The names of branches and tags; empty when is_from_cache().
  RepoRefs refs(const std::stop_token& stop) const;

  const HubSettings& settings() const { return settings_; }
  const HubCache& cache() const { return cache_; }

 private:
  const RepoFile& listed(std::string_view path, const std::stop_token& stop);
  std::optional<RepoFile> named_in_cache(const std::string& path) const;
  void look_up(std::vector<std::string>& notes, const std::stop_token& stop);
  bool take_from_cache();

  HubSettings settings_;
  std::string repo_;
  std::string revision_;
  HubCache cache_;
  std::string commit_;
  std::vector<std::string> paths_;
  std::optional<std::vector<RepoFile>> listing_;  // sorted by path; fetched when it is needed
  bool from_cache_ = false;
};

}  // namespace attention_plasticity
