#include "attention_plasticity/digest/digest.h"

#include <gtest/gtest.h>

namespace attention_plasticity {
namespace {

// The examples of FIPS 180-4.
TEST(Digest, GivesTheKnownDigestsOfAbc) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Digest digest(DigestKind::sha1);
  digest.add("abc");
  EXPECT_EQ(digest.finish(), "a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST(Digest, DoesNotDependOnThePieces) {
  Digest digest(DigestKind::sha256);
  digest.add("a");
  digest.add("");
  digest.add("bc");
  EXPECT_EQ(digest.finish(), sha256("abc"));
}

TEST(Digest, BeginsAnewAfterAReset) {
  Digest digest(DigestKind::sha256);
  digest.add("something else");
  digest.reset();
  digest.add("abc");
  EXPECT_EQ(digest.finish(), sha256("abc"));
}

}  // namespace
}  // namespace attention_plasticity
