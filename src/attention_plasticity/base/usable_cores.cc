#include "attention_plasticity/base/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "attention_plasticity/base/own_cgroups.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

int cores_by_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Cores that a cpu.max of "quota period" allows; a large number for "max" or no such file.
double quota_of(const fs::path& cgroup) {
  std::ifstream file(cgroup / "cpu.max");
  double quota = 0;
  double period = 0;
  return file >> quota >> period && period > 0 ? quota / period : HUGE_VAL;
}

double cores_by_quota() {
  double least = HUGE_VAL;
  for (const fs::path& cgroup : own_cgroups()) least = std::min(least, quota_of(cgroup));
  return least;
}

}  // namespace

int usable_cores() {
  const int cores = cores_by_affinity();
  const double quota = std::ceil(cores_by_quota());
  return quota < cores ? std::max(1, static_cast<int>(quota)) : cores;
}

}  // namespace attention_plasticity
