#pragma once

#include <hwy/targets.h>

#include <cstdint>

namespace attention_plasticity {

/// For tests: runs `check` with every instruction set that the machine has, one after the other.
template <class Check>
void for_every_target(const Check& check) {
  struct Restore {
    ~Restore() { hwy::SetSupportedTargetsForTest(0); }
  };
  const Restore restore;
  // The list is asked for while nothing is forced.
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    check(hwy::TargetName(target));
  }
}

}  // namespace attention_plasticity
