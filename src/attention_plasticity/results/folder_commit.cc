#include "attention_plasticity/results/folder_commit.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/folder_names.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr const char* old_files = "old";
constexpr const char* new_files = "new";
constexpr std::string_view current_files = "current";

fs::path hidden_folder(const fs::path& folder) { return folder / hidden_commit_folder; }

// The link that stands for `name` in the folder during a commit.
fs::path link_text(const std::string& name) { return fs::path(hidden_commit_folder) / current_files / name; }

bool exists_itself(const fs::path& path) {
  struct stat unused{};
  return ::lstat(path.c_str(), &unused) == 0;
}

// What link(2) and symlink(2) say where a file system, or a rule for files of others, does not allow them.
bool are_links_refused(int error) {
  // On Linux EOPNOTSUPP is ENOTSUP.
  return error == EPERM || error == ENOTSUP || error == ENOSYS || error == EMLINK;
}

void rename_to(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail_output(to, "replace this file", errno);
}

void unlink_if_there(const fs::path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_output(path, "remove this file", errno);
}

// Hidden folders have the permissions of the folder that they stand in: readers go through them during a commit.
void make_folder_like(const fs::path& parent, const fs::path& folder) {
  struct stat known{};
  if (::stat(parent.c_str(), &known) != 0) fail_output(parent, "look at this folder", errno);
  if (::mkdir(folder.c_str(), 0700) != 0) fail_output(folder, "make this folder", errno);
  if (::chmod(folder.c_str(), known.st_mode & mode_t{0777}) != 0) fail_output(folder, "make this folder", errno);
}

void remove_hidden_folder(const fs::path& folder) {
  const fs::path hidden = hidden_folder(folder);
  // Without `current` it is known that no name is a link any more, whatever else is still there.
  unlink_if_there(hidden / current_files);
  std::error_code error;
  do remove_tree(hidden, error);
  while (error == std::errc::interrupted);
  if (error) fail_output(hidden, "remove this folder", error.value());
}

std::vector<std::string> names_that_are_links(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names = folder_names(folder, error);
  if (error) fail_output(folder, "read this folder", error.value());
  std::erase_if(names, [&](const std::string& name) {
    std::error_code not_a_link;
    return fs::read_symlink(folder / name, not_a_link) != link_text(name) || not_a_link;
  });
  return names;
}

// Step 5 for one name. Its file keeps its name in H until the end, for readers that are following the link just now.
void replace_link_by_file(const fs::path& link, const fs::path& file, const fs::path& hidden) {
  if (!exists_itself(file)) {
    unlink_if_there(link);
    return;
  }
  const fs::path second_name = hidden / "plain";
  unlink_if_there(second_name);
  rename_to(::link(file.c_str(), second_name.c_str()) == 0 ? second_name : file, link);
}

void replace_links_by_files(const fs::path& folder) {
  const fs::path hidden = hidden_folder(folder);
  const std::vector<std::string> names = names_that_are_links(folder);
  if (names.empty()) return;
  std::error_code error;
  const fs::path files = fs::read_symlink(hidden / current_files, error);
  // Without `current` the links show no files, and are removed.
  if (error != std::errc::no_such_file_or_directory && files != old_files && files != new_files) {
    fail_output(hidden / current_files, "read this link", error ? error.value() : EINVAL);
  }
  for (const std::string& name : names) replace_link_by_file(folder / name, hidden / files / name, hidden);
  sync_folder(folder);
}

}  // namespace

void settle(const fs::path& folder) {
  const fs::path hidden = hidden_folder(folder);
  struct stat known{};
  if (::lstat(hidden.c_str(), &known) != 0) return;
  if (!S_ISDIR(known.st_mode)) {
    throw Error(ErrorKind::output, "is not the folder that this program makes under this name; move it away",
                hidden.string());
  }
  replace_links_by_files(folder);
  remove_hidden_folder(folder);
}

FolderCommit::FolderCommit(fs::path folder) : folder_(std::move(folder)), hidden_(hidden_folder(folder_)) {}

FolderCommit::~FolderCommit() {
  if (created_.empty()) return;
  try {
    settle(folder_);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the next writer settles
  }
}

FileWriter FolderCommit::create(const std::string& name, const fs::path& shown) {
  created_.push_back(name);
  if (created_.size() == 1) {
    make_folder_like(folder_, hidden_);
    make_folder_like(folder_, hidden_ / new_files);
  }
  return FileWriter(create_in_place_of(file(name), hidden_ / new_files / name, shown));
}

void FolderCommit::commit() {
  for (const std::string& name : created_) removed_.erase(name);
  sync_folder(hidden_ / new_files);
  if (keep_old_files() && link_names()) {
    switch_to_new_files();
  } else {
    replace_links_by_files(folder_);
    rename_one_by_one();
  }
  created_.clear();
  try {
    sync_folder(hidden_);
    settle(folder_);
  } catch (const Error& error) {
    throw Error(error.kind(),
                fmt::format("{}; the new results are in place, and the next run removes what is left", error.what()),
                error.file());
  }
}

// Steps 2 and 3 return false where links do not work.
bool FolderCommit::keep_old_files() {
  make_folder_like(folder_, hidden_ / old_files);
  std::set<std::string> names = removed_;
  names.insert(created_.begin(), created_.end());
  for (const std::string& name : names) {
    if (::link(file(name).c_str(), (hidden_ / old_files / name).c_str()) == 0 || errno == ENOENT) continue;
    if (are_links_refused(errno)) return false;
    fail_output(file(name), "link this file", errno);
  }
  sync_folder(hidden_ / old_files);
  if (::symlink(old_files, (hidden_ / current_files).c_str()) != 0) {
    if (are_links_refused(errno)) return false;
    fail_output(hidden_ / current_files, "link this file", errno);
  }
  sync_folder(hidden_);
  sync_folder(folder_);
  return true;
}

bool FolderCommit::link_names() {
  std::vector<std::string> names = created_;
  for (const std::string& name : removed_) {
    if (exists_itself(file(name))) names.push_back(name);
  }
  const fs::path link = hidden_ / "link";
  for (const std::string& name : names) {
    if (::symlink(link_text(name).c_str(), link.c_str()) != 0) {
      if (are_links_refused(errno)) return false;
      fail_output(file(name), "link this file", errno);
    }
    rename_to(link, file(name));
  }
  sync_folder(folder_);
  return true;
}

void FolderCommit::switch_to_new_files() {
  const fs::path next = hidden_ / "next";
  if (::symlink(new_files, next.c_str()) != 0) fail_output(next, "link this file", errno);
  if (::rename(next.c_str(), (hidden_ / current_files).c_str()) != 0) {
    fail_output(hidden_ / current_files, "replace this file", errno);
  }
}

void FolderCommit::rename_one_by_one() {
  for (const std::string& name : created_) rename_to(hidden_ / new_files / name, file(name));
  for (const std::string& name : removed_) unlink_if_there(file(name));
  sync_folder(folder_);
}

}  // namespace attention_plasticity
