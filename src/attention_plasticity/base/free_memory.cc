#include "attention_plasticity/base/free_memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

#include "attention_plasticity/base/own_cgroups.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// The number after a name, in a file with one name on each line.
std::optional<std::uint64_t> named_number(const fs::path& path, std::string_view wanted) {
  std::ifstream file(path);
  std::string name;
  for (std::uint64_t number = 0; file >> name >> number;) {
    if (name == wanted) return number;
    std::getline(file, name);
  }
  return std::nullopt;
}

// None: the file is not there, or says "max".
std::optional<std::uint64_t> only_number(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

// None: the cgroup has no limit.
std::optional<std::uint64_t> free_in(const fs::path& cgroup) {
  const std::optional<std::uint64_t> most = only_number(cgroup / "memory.max");
  const std::optional<std::uint64_t> used = only_number(cgroup / "memory.current");
  if (!most || !used) return std::nullopt;
  // What is used includes the cache of files, which MemAvailable counts as free too.
  std::uint64_t cache = 0;
  for (const char* name : {"active_file", "inactive_file"}) {
    cache += named_number(cgroup / "memory.stat", name).value_or(0);
  }
  const std::uint64_t held = *used - std::min(*used, cache);
  return *most - std::min(*most, held);
}

}  // namespace

std::optional<std::uint64_t> free_memory() { return free_memory("/proc/meminfo", own_cgroups()); }

std::optional<std::uint64_t> free_memory(const fs::path& meminfo, std::span<const fs::path> cgroups) {
  std::optional<std::uint64_t> least;
  if (const auto kibibytes = named_number(meminfo, "MemAvailable:")) least = *kibibytes * 1024;
  for (const fs::path& cgroup : cgroups) {
    if (const auto own = free_in(cgroup)) least = std::min(least.value_or(*own), *own);
  }
  return least;
}

}  // namespace attention_plasticity
