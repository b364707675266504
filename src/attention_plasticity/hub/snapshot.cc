#include "attention_plasticity/hub/snapshot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/hub_client.h"

namespace attention_plasticity {
namespace {

// org/name; the oldest datasets have a name without an org.
bool is_repo_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '/';
  };
  return is_inside_folder(name) && name.size() <= 200 && std::ranges::all_of(name, allowed) &&
         std::ranges::count(name, '/') <= 1;
}

void check_names(const std::string& repo, const std::string& revision) {
  if (!is_repo_name(repo)) {
    throw Error(ErrorKind::usage,
                fmt::format("{} is not the name of a dataset; it must look like org/name", quoted_text(repo)));
  }
  if (!is_inside_folder(revision)) {
    throw Error(ErrorKind::usage,
                fmt::format("{} is not the name of a branch, a tag or a commit", quoted_text(revision)));
  }
}

std::string known_revisions(const RepoRefs& refs, const std::string& revision) {
  std::vector<std::string_view> names(refs.branches.begin(), refs.branches.end());
  names.insert(names.end(), refs.tags.begin(), refs.tags.end());
  if (names.empty()) return "";
  std::vector<std::pair<std::size_t, std::string_view>> by_distance;
  by_distance.reserve(names.size());
  for (const std::string_view name : names) by_distance.emplace_back(edit_distance(revision, name), name);
  std::ranges::stable_sort(by_distance, {}, &std::pair<std::size_t, std::string_view>::first);
  constexpr std::size_t shown = 5;
  std::vector<std::string> nearest;
  for (const auto& [distance, name] : by_distance) {
    if (nearest.size() == shown) break;
    nearest.push_back(shown_text(name));
  }
  return fmt::format("; {} {}", names.size() > shown ? "the nearest of its branches and tags are" : "there are",
                     fmt::join(nearest, ", "));
}

std::vector<RepoFile> sorted_listing(HubClient& client, const std::string& commit, const std::stop_token& stop) {
  std::vector<RepoFile> files = client.files(commit, stop);
  std::ranges::sort(files, {}, &RepoFile::path);
  return files;
}

}  // namespace

Snapshot::Snapshot(const HubSettings& settings, std::string repo, std::string revision, std::vector<std::string>& notes,
                   const std::stop_token& stop)
    : settings_(settings),
      repo_(std::move(repo)),
      revision_(std::move(revision)),
      cache_(settings.cache, repo_, settings.use_symlinks) {
  check_names(repo_, revision_);
  if (settings.cache.empty()) {
    throw Error(ErrorKind::usage, "there is no folder for the cache: set HF_HOME, or pass `dataset_cache_dir`");
  }
  if (!settings_.offline) {
    look_up(notes, stop);
    return;
  }
  if (!take_from_cache()) {
    throw Error(ErrorKind::network,
                fmt::format("HF_HUB_OFFLINE is set, and {} at {} is not in the cache; unset it to download, or pass "
                            "`dataset_local_root`",
                            repo_, revision_),
                settings_.cache.string());
  }
}

void Snapshot::look_up(std::vector<std::string>& notes, const std::stop_token& stop) {
  const bool is_cached = take_from_cache();
  HubClient client(settings_, repo_);
  // When the cache has the revision, two attempts at the Hub are enough.
  const int attempts = is_cached ? std::min(2, settings_.attempts) : settings_.attempts;
  try {
    RevisionInfo info = client.revision(revision_, attempts, stop);
    if (!info.lists_all) {
      listing_ = sorted_listing(client, info.commit, stop);
      info.paths.clear();
      for (const RepoFile& file : *listing_) info.paths.push_back(file.path);
    }
    commit_ = std::move(info.commit);
    paths_ = std::move(info.paths);
    from_cache_ = false;
  } catch (const NoRevision& error) {
    throw Error(error.kind(), fmt::format("{}{}", error.what(), known_revisions(client.refs(stop), revision_)));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::network || !is_cached) throw;
    notes.push_back(fmt::format("{}; going on with what the cache holds of {} at commit {}", error.what(), repo_,
                                commit_.substr(0, 12)));
  }
}

bool Snapshot::take_from_cache() {
  const std::optional<std::string> commit = cache_.commit_of(revision_);
  if (!commit) return false;
  std::vector<std::string> paths = cache_.paths(*commit);
  if (paths.empty()) return false;
  commit_ = *commit;
  paths_ = std::move(paths);
  from_cache_ = true;
  return true;
}

std::vector<RepoFile> Snapshot::missing(const std::vector<std::string>& paths, const std::stop_token& stop) {
  std::vector<std::string_view> absent;
  for (const std::string& path : paths) {
    if (!has(path)) absent.push_back(path);
  }
  if (absent.empty()) return {};
  if (from_cache_) {
    throw Error(ErrorKind::network,
                fmt::format("{} of {} at {} is not in the cache, and the Hub is offline or out of reach",
                            absent.front(), repo_, revision_));
  }
  std::vector<RepoFile> files;
  files.reserve(absent.size());
  for (const std::string_view path : absent) files.push_back(listed(path, stop));
  return files;
}

const RepoFile& Snapshot::listed(std::string_view path, const std::stop_token& stop) {
  if (!listing_) {
    HubClient client(settings_, repo_);
    listing_ = sorted_listing(client, commit_, stop);
  }
  const auto found = std::ranges::lower_bound(*listing_, path, {}, &RepoFile::path);
  if (found == listing_->end() || found->path != path) {
    throw Error(ErrorKind::network,
                fmt::format("the Hub names the file {} of {} but does not list it", shown_text(path), repo_));
  }
  return *found;
}

// Without the Hub: a file of the cache is a link to its content, which is named by its digest.
std::optional<RepoFile> Snapshot::named_in_cache(const std::string& path) const {
  std::error_code unknown;
  const std::filesystem::path file = cache_.file(commit_, path);
  std::string name = std::filesystem::read_symlink(file, unknown).filename().string();
  if (unknown || (name.size() != 40 && name.size() != 64)) return std::nullopt;
  const std::uintmax_t size = std::filesystem::file_size(file, unknown);
  if (unknown) return std::nullopt;
  const bool is_large = name.size() == 64;
  return RepoFile{path, size, std::move(name), is_large};
}

void Snapshot::verify(const std::vector<std::string>& paths, std::vector<std::string>& notes,
                      const std::stop_token& stop) {
  for (const std::string& path : paths) {
    if (!has(path)) continue;
    const std::filesystem::path file = cache_.file(commit_, path);
    const std::optional<RepoFile> expected = from_cache_ ? named_in_cache(path) : listed(path, stop);
    if (!expected) {
      throw Error(ErrorKind::network,
                  "this file of the cache cannot be verified, because its digest is known to the Hub alone, which is "
                  "offline or out of reach",
                  file.string());
    }
    if (has_digest(file, *expected, stop)) continue;
    const std::string wrong = fmt::format("its {} is not {}, as the Hub says: the cached file is damaged",
                                          expected->is_large ? "SHA-256" : "Git SHA-1", expected->etag);
    if (from_cache_) {
      throw Error(ErrorKind::network, wrong + ", and the Hub is offline or out of reach; run again online to fetch it",
                  file.string());
    }
    cache_.remove(expected->etag, commit_, path);
    notes.push_back(fmt::format("{}: {}; it is fetched again", file.string(), wrong));
  }
}

void Snapshot::note_revision() const {
  if (from_cache_) return;
  try {
    cache_.set_commit(revision_, commit_);
  } catch (const Error&) {
    return;  // a read-only cache still serves the files it has
  }
}

RepoRefs Snapshot::refs(const std::stop_token& stop) const {
  if (from_cache_) return {};
  return HubClient(settings_, repo_).refs(stop);
}

}  // namespace attention_plasticity
