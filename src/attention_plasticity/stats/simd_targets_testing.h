#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace attention_plasticity {

/// Calls `check` once for every SIMD target of this machine, with the kernels bound to it.
template <class Check>
void on_every_target(Check&& check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace attention_plasticity
