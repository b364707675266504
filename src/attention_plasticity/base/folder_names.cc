#include "attention_plasticity/base/folder_names.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

namespace attention_plasticity {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::error_code system_error() { return {errno, std::generic_category()}; }

}  // namespace

std::vector<std::string> folder_names(const std::filesystem::path& folder, std::error_code& error) {
  std::unique_ptr<DIR, CloseFolder> entries;
  do entries.reset(::opendir(folder.c_str()));
  while (!entries && errno == EINTR);
  if (!entries) {
    error = system_error();
    return {};
  }
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(entries.get());
    if (entry == nullptr) break;
    const std::string_view name = static_cast<const char*>(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) {
    error = system_error();
    return {};
  }
  error.clear();
  std::ranges::sort(names);
  return names;
}

void remove_tree(const std::filesystem::path& path, std::error_code& error) {
  error.clear();
  struct stat found{};
  const auto fail = [&] {
    if (errno != ENOENT) error = system_error();
  };
  if (::lstat(path.c_str(), &found) != 0) return fail();
  if (!S_ISDIR(found.st_mode)) {
    if (::unlink(path.c_str()) != 0) fail();
    return;
  }
  for (const std::string& name : folder_names(path, error)) {
    remove_tree(path / name, error);
    if (error) return;
  }
  if (!error && ::rmdir(path.c_str()) != 0) fail();
}

}  // namespace attention_plasticity
