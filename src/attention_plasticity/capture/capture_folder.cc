#include "attention_plasticity/capture/capture_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <vector>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/folder_names.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/capture/capture_manifest.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& folder, const std::string& message) {
  throw Error(ErrorKind::output, message, folder.string());
}

void rename_folder(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail_output(to, "put the dump in place", errno);
}

void remove_folder(const fs::path& folder) {
  std::error_code error;
  remove_tree(folder, error);
  if (error) refuse(folder, fmt::format("cannot remove this folder: {}", error.message()));
}

// The path without links; what does not exist yet is kept as it is.
fs::path resolved(const fs::path& folder) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(folder), error);
  if (error) refuse(folder, fmt::format("cannot look at this folder: {}", error.message()));
  if (!path.has_filename()) path = path.parent_path();
  if (!path.has_filename()) refuse(folder, "a dump cannot be the root of a file system");
  return path;
}

bool is_number(std::string_view text) {
  return text.size() >= 2 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// l00h00q or l00h00k.
bool is_head_folder(std::string_view name) {
  const std::size_t h = name.find('h');
  return h != std::string_view::npos && name.starts_with('l') && (name.ends_with('q') || name.ends_with('k')) &&
         is_number(name.substr(1, h - 1)) && is_number(name.substr(h + 1, name.size() - h - 2));
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const std::string& name : folder_names(folder, error)) entries.push_back(folder / name);
  if (error) refuse(folder, fmt::format("the folder cannot be read: {}", error.message()));
  return entries;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (error) refuse(path, fmt::format("cannot look at this: {}", error.message()));
  return exists;
}

// Something in the folder that no dump has; empty: there is nothing but a dump.
std::string foreign_name(const fs::path& folder) {
  constexpr std::array<std::string_view, 6> known{"capture.json",    "config.json", "_saver_state.json",
                                                  "head_labels.csv", "README.md",   "truth.json"};
  for (const fs::path& entry : entries_of(folder)) {
    const std::string name = entry.filename().string();
    if (std::ranges::find(known, name) == known.end() && !is_head_folder(name)) return name;
  }
  return {};
}

std::optional<std::string> manifest_of(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  return manifest_in(read_text_file(file));
}

}  // namespace

CaptureFolder::CaptureFolder(const fs::path& dump, const std::string& manifest, bool overwrite)
    : dump_(resolved(dump)),
      hidden_(dump_.parent_path() / fmt::format(".{}.attention-plasticity-capture", dump_.filename().string())) {
  look_at_dump(manifest, overwrite);
  if (complete_) {
    if (!is_there(hidden_)) return;
    lock_.emplace(hidden_, "output");
    discard();
    return;
  }
  open_hidden(manifest, overwrite);
}

void CaptureFolder::look_at_dump(const std::string& manifest, bool overwrite) {
  std::error_code ignored;
  if (!is_there(dump_)) return;
  if (!fs::is_directory(dump_, ignored)) refuse(dump_, "there is a file of this name; name a folder for the dump");
  if (entries_of(dump_).empty()) return;
  const std::optional<std::string> there = manifest_of(dump_ / "capture.json");
  if (there == manifest && !overwrite) {
    complete_ = true;
    return;
  }
  const std::string foreign = foreign_name(dump_);
  if (!foreign.empty()) {
    refuse(dump_,
           fmt::format("the folder holds {}, which is no part of a dump; name a new folder", quoted_text(foreign)));
  }
  if (overwrite) return;
  refuse(dump_, fmt::format("the folder holds a dump already{}; name a new folder, or pass `overwrite` to replace it",
                            there ? " (" + manifest_differences(*there, manifest) + ")" : ""));
}

void CaptureFolder::open_hidden(const std::string& manifest, bool overwrite) {
  make_output_folder(hidden_);
  lock_.emplace(hidden_, "output");
  // A rename was interrupted that takes two steps where the file system cannot exchange folders.
  if (is_there(hidden_ / "old") && !is_there(dump_)) rename_folder(hidden_ / "old", dump_);
  const std::optional<std::string> there = manifest_of(hidden_ / "capture.json");
  if (there == manifest) return;
  if (there && !overwrite) {
    refuse(dump_,
           fmt::format("an unfinished capture of something else waits here ({}); repeat its command to go on, or "
                       "pass `overwrite` to begin anew",
                       manifest_differences(*there, manifest)));
  }
  clear_hidden();
  write_file_atomically(hidden_ / "capture.json", fmt::format("{{\"manifest\": {}}}\n", manifest));
}

// The folder itself stays, and so does the file by which it may be locked.
void CaptureFolder::clear_hidden() const {
  for (const fs::path& entry : entries_of(hidden_)) {
    if (!entry.filename().string().starts_with('.')) remove_folder(entry);
  }
}

fs::path CaptureFolder::empty_new_dump() const {
  fs::path folder = hidden_ / "dump";
  remove_folder(folder);
  make_output_folder(folder, Durability::unsynced);
  return folder;
}

void CaptureFolder::replace_dump() {
  const fs::path folder = hidden_ / "dump";
  if (!is_there(dump_) || entries_of(dump_).empty()) {
    rename_folder(folder, dump_);
    return;
  }
  if (::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, dump_.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) fail_output(dump_, "replace this dump", errno);
  remove_folder(hidden_ / "old");
  rename_folder(dump_, hidden_ / "old");
  rename_folder(folder, dump_);
}

void CaptureFolder::publish() {
  // Thousands of files: one call for all of them is faster than one for each.
  const Descriptor folder(hidden_ / "dump", O_RDONLY | O_DIRECTORY, hidden_ / "dump");
  if (::syncfs(folder.number()) != 0) fail_output(dump_, "flush the dump to disk", errno);
  replace_dump();
  sync_folder(dump_.parent_path());
  complete_ = true;
  discard();
}

void CaptureFolder::discard() {
  remove_folder(hidden_);
  lock_.reset();
}

}  // namespace attention_plasticity
