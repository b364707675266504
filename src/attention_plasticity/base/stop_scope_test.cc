#include "attention_plasticity/base/stop_scope.h"

#include <gtest/gtest.h>

#include <exception>
#include <stop_token>
#include <thread>
#include <type_traits>

namespace attention_plasticity {
namespace {

TEST(StopScope, ThrowsOnceItsThreadIsToStop) {
  bool stop = false;
  const StopScope scope([&] { return stop; });
  EXPECT_NO_THROW(throw_if_stopped());
  stop = true;
  EXPECT_THROW(throw_if_stopped(), Stopped);
}

TEST(StopScope, IsOfItsThreadAndOfItsTime) {
  {
    const StopScope scope([] { return true; });
    std::thread([] { EXPECT_NO_THROW(throw_if_stopped()); }).join();
    {
      const StopScope inner([] { return false; });
      EXPECT_NO_THROW(throw_if_stopped());
    }
    EXPECT_THROW(throw_if_stopped(), Stopped);
  }
  EXPECT_NO_THROW(throw_if_stopped());
}

TEST(Stopped, PassesHandlersOfErrors) {
  static_assert(!std::is_base_of_v<std::exception, Stopped>);
  std::stop_source source;
  EXPECT_NO_THROW(throw_if_stopped(source.get_token()));
  source.request_stop();
  EXPECT_THROW(throw_if_stopped(source.get_token()), Stopped);
}

}  // namespace
}  // namespace attention_plasticity
