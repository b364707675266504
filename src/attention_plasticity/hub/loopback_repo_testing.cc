#include "attention_plasticity/hub/loopback_repo_testing.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace attention_plasticity {
namespace {

using nlohmann::json;

std::string digest_hex(const EVP_MD* algorithm, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, algorithm, nullptr) != 1) {
    throw std::runtime_error("OpenSSL computes no digest");
  }
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string git_blob_oid(std::string_view content) {
  std::string blob = fmt::format("blob {}", content.size());
  blob += '\0';
  blob += content;
  return digest_hex(EVP_sha1(), blob);
}

std::string commit_of(const LoopbackSnapshot& snapshot) {
  std::string files;
  for (const auto& [path, file] : snapshot.files) files += fmt::format("{} {}\n", file->etag, path);
  return digest_hex(EVP_sha1(), files);
}

std::string json_text(const json& value) {
  // Any path is taken, also one that is no UTF-8.
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json tree_entry(const std::string& path, const LoopbackFile& file) {
  json entry{{"type", "file"}, {"oid", file.git_oid}, {"size", file.content.size()}, {"path", path}};
  if (file.large) {
    entry["lfs"] = {{"oid", file.etag}, {"size", file.content.size()}, {"pointerSize", file.pointer_size}};
  }
  return entry;
}

json folder_entry(const std::string& path) {
  return {{"type", "directory"}, {"oid", file_etag(path, false)}, {"size", 0}, {"path", path}};
}

json ref_entry(const std::string& folder, const std::string& name, const LoopbackSnapshot& snapshot) {
  return {{"name", name}, {"ref", folder + name}, {"targetCommit", snapshot.commit}};
}

}  // namespace

std::string file_etag(std::string_view content, bool large) {
  return large ? digest_hex(EVP_sha256(), content) : git_blob_oid(content);
}

LoopbackTreePage tree_page(const LoopbackSnapshot& snapshot, const std::string& folder, bool recursive,
                           std::size_t first, std::size_t limit) {
  std::map<std::string, json> entries;
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
  json chosen = json::array();
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
    file->git_oid = git_blob_oid(pointer);
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
  json info{{"_id", "000000000000000000000001"},
            {"id", name},
            {"author", name.substr(0, name.find('/'))},
            {"sha", snapshot.commit},
            {"lastModified", "2025-01-01T00:00:00.000Z"},
            {"private", options_.is_private},
            {"gated", options_.gated ? json("auto") : json(false)},
            {"disabled", options_.disabled},
            {"tags", json::array()},
            {"downloads", 0},
            {"likes", 0}};
  if (options_.lists_siblings) {
    json& siblings = info["siblings"] = json::array();
    for (const auto& [path, file] : snapshot.files) siblings.push_back({{"rfilename", path}});
  }
  return json_text(info);
}

std::string LoopbackRepo::refs() {
  json refs{{"branches", json::array()}, {"tags", json::array()}, {"converts", json::array()}};
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
