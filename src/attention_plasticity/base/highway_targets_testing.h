#pragma once

#include <hwy/targets.h>

#include <cstdint>

namespace attention_plasticity {

/// For tests: runs `check` once with each instruction set of the machine.
template <class Check>
void for_every_target(const Check& check) {
  struct Restore {
    ~Restore() { hwy::SetSupportedTargetsForTest(0); }
  };
  const Restore restore;
  // The list is complete only while no target is forced, so it is made before the loop.
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    check(hwy::TargetName(target));
  }
}

}  // namespace attention_plasticity
