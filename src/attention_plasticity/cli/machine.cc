#include "attention_plasticity/cli/machine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace attention_plasticity {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

rusage usage() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used;
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

double cpu_seconds() {
  const rusage used = usage();
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::uint64_t peak_rss_bytes() { return static_cast<std::uint64_t>(usage().ru_maxrss) * 1024; }

}  // namespace attention_plasticity
