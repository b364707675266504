#include "attention_plasticity/base/own_cgroups.h"

#include <fstream>
#include <string>

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// The process's cgroup below the mount point: "a/b" of the line "0::/a/b" in /proc/self/cgroup.
fs::path own_cgroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return line.substr(4);
  }
  return {};
}

}  // namespace

std::vector<fs::path> own_cgroups() {
  std::vector<fs::path> folders{"/sys/fs/cgroup"};
  for (const fs::path& part : own_cgroup()) folders.push_back(folders.back() / part);
  return folders;
}

}  // namespace attention_plasticity
