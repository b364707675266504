#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>

#include "attention_plasticity/analyze_dump.h"

namespace attention_plasticity::python {

inline rusage usage() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used;
}

inline double cpu_seconds() {
  const rusage used = usage();
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// What a run costs, from its making to the call of until_now().
class Cost {
 public:
  explicit Cost(int workers) : workers_(workers) {}
  RunResources until_now() const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
    return {workers_, wall.count(), cpu_seconds() - cpu_, static_cast<std::uint64_t>(usage().ru_maxrss) * 1024, {}};
  }

 private:
  int workers_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double cpu_ = cpu_seconds();
};

}  // namespace attention_plasticity::python
