#include "attention_plasticity/hub/loopback_repo_testing.h"

#include <fmt/format.h>

#include <utility>

#include "attention_plasticity/hub/cache.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

std::string commit_of(const LoopbackSnapshot& snapshot) {
  std::string files;
  for (const auto& [path, file] : snapshot.files) files += fmt::format("{} {}\n", file->etag, path);
  return file_etag(files, false);
}

Json tree_entry(const std::string& path, const LoopbackFile& file) {
  Json entry{{"type", "file"}, {"oid", file.git_oid}, {"size", file.content.size()}, {"path", path}};
  if (file.large) {
    entry["lfs"] = {{"oid", file.etag}, {"size", file.content.size()}, {"pointerSize", file.pointer_size}};
  }
  return entry;
}

Json folder_entry(const std::string& path) {
  return {{"type", "directory"}, {"oid", file_etag(path, false)}, {"size", 0}, {"path", path}};
}

Json ref_entry(const std::string& folder, const std::string& name, const LoopbackSnapshot& snapshot) {
  return {{"name", name}, {"ref", folder + name}, {"targetCommit", snapshot.commit}};
}

}  // namespace

std::string file_etag(std::string_view content, bool large) {
  ContentDigest digest({"", content.size(), "", large});
  digest.add(content);
  return digest.finish();
}

LoopbackTreePage tree_page(const LoopbackSnapshot& snapshot, const std::string& folder, bool recursive,
                           std::size_t first, std::size_t limit) {
  std::map<std::string, Json> entries;
  const std::string start = folder.empty() ? "" : folder + "/";
  for (const auto& [path, file] : snapshot.files) {
    if (!path.starts_with(start)) continue;
    auto slash = path.find('/', start.size());
    if (recursive || slash == std::string::npos) entries[path] = tree_entry(path, *file);
    for (; slash != std::string::npos; slash = recursive ? path.find('/', slash + 1) : std::string::npos) {
      entries.try_emplace(path.substr(0, slash), folder_entry(path.substr(0, slash)));
    }
  }
  LoopbackTreePage page;
  page.has_folder = folder.empty() || !entries.empty();
  Json chosen = Json::array();
  std::size_t number = 0;
  for (const auto& [path, entry] : entries) {
    if (number >= first && chosen.size() < limit) chosen.push_back(entry);
    ++number;
  }
  if (first + chosen.size() < entries.size()) page.next = first + chosen.size();
  page.json = json_text(chosen);
  return page;
}

std::shared_ptr<const LoopbackFile> LoopbackRepo::add_file(const std::string& branch, const std::string& path,
                                                           std::string content, bool large) {
  auto file = std::make_shared<LoopbackFile>();
  file->content = std::move(content);
  file->large = large;
  file->etag = file_etag(file->content, large);
  file->git_oid = file->etag;
  if (large) {
    const std::string pointer = fmt::format("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n",
                                            file->etag, file->content.size());
    file->git_oid = file_etag(pointer, false);
    file->pointer_size = pointer.size();
  }
  Branch& changed = branches_[branch];
  changed.files.files[path] = file;
  changed.head = nullptr;
  return file;
}

void LoopbackRepo::add_tag(const std::string& tag, const std::string& branch) {
  tags_[tag] = head(branches_.at(branch));
}

LoopbackRepo::Snapshot LoopbackRepo::find(const std::string& revision) {
  if (const auto branch = branches_.find(revision); branch != branches_.end()) return head(branch->second);
  if (const auto tag = tags_.find(revision); tag != tags_.end()) return tag->second;
  for (auto& [name, branch] : branches_) head(branch);
  const auto commit = commits_.find(revision);
  return commit == commits_.end() ? nullptr : commit->second;
}

std::string LoopbackRepo::info(const std::string& name, const LoopbackSnapshot& snapshot) const {
  Json info{{"_id", "000000000000000000000001"},
            {"id", name},
            {"author", name.substr(0, name.find('/'))},
            {"sha", snapshot.commit},
            {"lastModified", "2025-01-01T00:00:00.000Z"},
            {"private", options_.is_private},
            {"gated", options_.gated ? Json("auto") : Json(false)},
            {"disabled", options_.disabled},
            {"tags", Json::array()},
            {"downloads", 0},
            {"likes", 0}};
  if (options_.lists_siblings) {
    Json& siblings = info["siblings"] = Json::array();
    for (const auto& [path, file] : snapshot.files) siblings.push_back({{"rfilename", path}});
  }
  return json_text(info);
}

std::string LoopbackRepo::refs() {
  Json refs{{"branches", Json::array()}, {"tags", Json::array()}, {"converts", Json::array()}};
  for (auto& [name, branch] : branches_) refs["branches"].push_back(ref_entry("refs/heads/", name, *head(branch)));
  for (const auto& [name, snapshot] : tags_) refs["tags"].push_back(ref_entry("refs/tags/", name, *snapshot));
  return json_text(refs);
}

LoopbackRepo::Snapshot LoopbackRepo::head(Branch& branch) {
  if (branch.head == nullptr) {
    branch.files.commit = commit_of(branch.files);
    branch.head = std::make_shared<const LoopbackSnapshot>(branch.files);
    commits_[branch.head->commit] = branch.head;
  }
  return branch.head;
}

}  // namespace attention_plasticity
