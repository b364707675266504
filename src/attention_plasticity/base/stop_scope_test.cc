#include "attention_plasticity/base/stop_scope.h"

#include <gtest/gtest.h>

#include <thread>

namespace attention_plasticity {
namespace {

TEST(StopScope, ThrowsOnceItsThreadIsToStop) {
  bool stop = false;
  const StopScope scope([&] { return stop; });
  EXPECT_NO_THROW(throw_if_stopped());
  stop = true;
  EXPECT_THROW(throw_if_stopped(), WorkStopped);
}

TEST(StopScope, IsOfItsThreadAndOfItsTime) {
  {
    const StopScope scope([] { return true; });
    std::thread([] { EXPECT_NO_THROW(throw_if_stopped()); }).join();
    {
      const StopScope inner([] { return false; });
      EXPECT_NO_THROW(throw_if_stopped());
    }
    EXPECT_THROW(throw_if_stopped(), WorkStopped);
  }
  EXPECT_NO_THROW(throw_if_stopped());
}

}  // namespace
}  // namespace attention_plasticity
