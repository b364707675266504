#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/hub/cache.h"
#include "attention_plasticity/hub/listing.h"
#include "attention_plasticity/hub/settings.h"

namespace attention_plasticity {

/// A dataset at one commit: what is in it, and where its files are or will be on disk.
class Snapshot {
 public:
  /// Looks the revision up on the Hub; in the cache when offline, or when the Hub cannot be reached and the cache knows
  /// the revision (a line in `notes` then says so). Throws Error(usage) for a name that is none, Error as HubClient has
  /// it, Error(input) for a revision that is not there, naming those nearest to it, Error(network) when offline and
  /// nothing is cached.
  Snapshot(const HubSettings& settings, std::string repo, std::string revision, std::vector<std::string>& notes,
           const std::stop_token& stop);

  const std::string& repo() const { return repo_; }
  const std::string& revision() const { return revision_; }
  const std::string& commit() const { return commit_; }
  /// Of all its files; of those in the cache when the Hub was not asked.
  const std::vector<std::string>& paths() const { return paths_; }
  bool is_from_cache() const { return from_cache_; }
  std::filesystem::path folder() const { return cache_.snapshot(commit_); }
  bool has(const std::string& path) const { return cache_.holds_file(commit_, path); }

  /// The files of these paths that are not on disk, with sizes and digests: one listing, if any is missing. Throws
  /// Error(network) when they are and the Hub was not asked.
  std::vector<RepoFile> missing(const std::vector<std::string>& paths, const std::stop_token& stop);

  /// Notes in the cache which commit the revision stands for, where it can be written to.
  void note_revision() const;

  /// The names that revisions go by; none when the Hub was not asked.
  RepoRefs refs(const std::stop_token& stop) const;

  const HubSettings& settings() const { return settings_; }
  const HubCache& cache() const { return cache_; }

 private:
  void look_up(std::vector<std::string>& notes, const std::stop_token& stop);
  bool take_from_cache();

  HubSettings settings_;
  std::string repo_;
  std::string revision_;
  HubCache cache_;
  std::string commit_;
  std::vector<std::string> paths_;
  std::optional<std::vector<RepoFile>> listing_;  // by path; none before it is needed
  bool from_cache_ = false;
};

}  // namespace attention_plasticity
