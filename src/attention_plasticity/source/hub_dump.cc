#include "attention_plasticity/source/hub_dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

HubSettings with_cache(HubSettings settings, const RunConfig& config) {
  if (config.dataset_cache_dir) settings.cache = *config.dataset_cache_dir;
  return settings;
}

// The end of a message, with the other branches; empty when there are none.
std::string other_branches(const RepoRefs& refs, const std::string& revision) {
  constexpr std::size_t shown = 20;
  std::vector<std::string> names;
  for (const std::string& branch : refs.branches) {
    if (branch != revision) names.push_back(shown_text(branch));
  }
  if (names.empty()) return "";
  std::ranges::sort(names);
  const std::size_t more = names.size() > shown ? names.size() - shown : 0;
  names.resize(names.size() - more);
  return fmt::format("; a model may have a branch of its own: pass `dataset_revision` with one of {}{}",
                     fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

std::string described_files(const Snapshot& snapshot, const std::vector<RepoFile>& files) {
  std::uint64_t bytes = 0;
  for (const RepoFile& file : files) bytes += file.size;
  return fmt::format("{} {} of {} at {} (commit {}), {}", files.size(), files.size() == 1 ? "file" : "files",
                     snapshot.repo(), snapshot.revision(), snapshot.commit().substr(0, 12), size_text(bytes));
}

HubDump::HubDump(const RunConfig& config, const HubSettings& settings, const std::stop_token& stop)
    : snapshot_(with_cache(settings, config), config.dataset_name, config.dataset_revision, notes_, stop),
      layout_(find_layout(config, stop)) {
  snapshot_.note_revision();
  if (config.verify_cache) verify(config, stop);
  fetch_descriptions(config, stop);
  if (snapshot_.is_from_cache()) {
    notes_.push_back(fmt::format("the heads in {} are taken as the whole dump", snapshot_.folder().string()));
  }
}

DumpLayout HubDump::find_layout(const RunConfig& config, const std::stop_token& stop) {
  try {
    DumpLayout layout = find_heads_among(snapshot_.paths(), snapshot_.folder(), config.model_dir);
    if (layout.note) {
      layout.note = fmt::format("{} at {} has no folder {}, but holds heads itself: these are used", snapshot_.repo(),
                                snapshot_.revision(), config.model_dir);
    }
    return layout;
  } catch (const Error& error) {
    throw Error(ErrorKind::input, fmt::format("{} at {} {}{}", snapshot_.repo(), snapshot_.revision(), error.what(),
                                              other_branches(snapshot_.refs(stop), snapshot_.revision())));
  }
}

// Before anything is read, so that a run never sees a wrong file.
void HubDump::verify(const RunConfig& config, const std::stop_token& stop) {
  std::vector<std::string> used = description_paths();
  const auto is_selected = [](const std::optional<std::vector<int>>& selection, int number) {
    return !selection || std::ranges::binary_search(*selection, number);
  };
  const auto add = [&](Side side, const HeadNumber& head) {
    used.push_back(layout_.file(side, head).lexically_relative(snapshot_.folder()).generic_string());
  };
  for (const HeadNumber& head : layout_.queries) {
    if (is_selected(config.layers, head.layer) && is_selected(config.q_heads, head.head)) add(Side::query, head);
  }
  for (const HeadNumber& head : layout_.keys) {
    if (is_selected(config.layers, head.layer)) add(Side::key, head);
  }
  snapshot_.verify(used, notes_, stop);
}

std::vector<std::string> HubDump::description_paths() const {
  const std::filesystem::path below = layout_.folder.lexically_relative(snapshot_.folder());
  std::vector<std::string> wanted;
  for (const char* name : {"config.json", "_saver_state.json", "head_labels.csv"}) {
    for (const std::string& path : {(below / name).lexically_normal().generic_string(), std::string(name)}) {
      const bool is_there = std::ranges::find(snapshot_.paths(), path) != snapshot_.paths().end();
      if (is_there && std::ranges::find(wanted, path) == wanted.end()) wanted.push_back(path);
    }
  }
  return wanted;
}

void HubDump::fetch_descriptions(const RunConfig& config, const std::stop_token& stop) {
  std::vector<RepoFile> files = snapshot_.missing(description_paths(), stop);
  std::erase_if(files, [&](const RepoFile& file) {
    if (file.size <= most_side_file_bytes) return false;
    notes_.push_back(fmt::format("{} has {}, and at most {} are read: it is not fetched", file.path,
                                 size_text(file.size), size_text(most_side_file_bytes)));
    return true;
  });
  check_disk_space(snapshot_, files);
  Downloads downloads(snapshot_, std::move(files), config.download_max_workers,
                      {{}, [this](const std::string& note) { notes_.push_back(note); }}, stop);
  while (!downloads.wait_for_all(std::chrono::hours(1))) {
  }
}

std::optional<std::string> HubDump::path(const HeadSide& side) const {
  const std::set<HeadNumber>& captured = side.side == Side::query ? layout_.queries : layout_.keys;
  if (!captured.contains(side.head)) return std::nullopt;
  return layout_.file(side.side, side.head).lexically_relative(snapshot_.folder()).generic_string();
}

std::vector<RepoFile> HubDump::missing(const std::vector<std::string>& paths, const std::stop_token& stop) {
  std::vector<RepoFile> files = snapshot_.missing(paths, stop);
  check_disk_space(snapshot_, files);
  return files;
}

std::vector<RepoFile> HubDump::missing(std::span<const HeadSide> sides, const std::stop_token& stop) {
  std::vector<std::string> paths;
  for (const HeadSide& side : sides) {
    if (std::optional<std::string> own = path(side)) paths.push_back(*std::move(own));
  }
  return missing(paths, stop);
}

}  // namespace attention_plasticity
