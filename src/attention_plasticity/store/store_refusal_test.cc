#include "attention_plasticity/store/store_refusal.h"

#include <gtest/gtest.h>

namespace attention_plasticity {
namespace {

TEST(StoreRefusal, TellsNoAccessFromANetworkThatFails) {
  EXPECT_EQ(refusal_kind("AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation: ..."), ErrorKind::access);
  EXPECT_EQ(refusal_kind("AWS Error ACCESS_DENIED during HeadObject operation: No response body."), ErrorKind::access);
  EXPECT_EQ(refusal_kind("AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 7"), ErrorKind::network);
  EXPECT_EQ(refusal_kind("AWS Error SLOW_DOWN during GetObject operation"), ErrorKind::network);
  EXPECT_EQ(refusal_kind("Path does not exist 'bucket/file'"), ErrorKind::input);
  EXPECT_EQ(refusal_kind("Unable to load libjvm\nlibjvm.so: No such file or directory"), ErrorKind::usage);
}

TEST(StoreRefusal, IsOneShortLine) {
  EXPECT_EQ(refusal_text("It failed. (Request ID: 12)\nmore"), "It failed");
  EXPECT_EQ(refusal_text(std::string(1000, 'x')).size(), 300U);
}

}  // namespace
}  // namespace attention_plasticity
