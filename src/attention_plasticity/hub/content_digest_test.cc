#include "attention_plasticity/hub/content_digest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace attention_plasticity {
namespace {

std::string digest_of(const std::string& content, bool is_large) {
  ContentDigest digest({"x", content.size(), "", is_large});
  digest.add(content);
  return digest.finish();
}

TEST(ContentDigest, OfALargeFileIsSha256) {
  // FIPS 180-2, appendix B.
  EXPECT_EQ(digest_of("abc", true), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of("", true), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(ContentDigest, OfASmallFileIsGitsObjectName) {
  // `printf 'hello\n' | git hash-object --stdin`, and of nothing.
  EXPECT_EQ(digest_of("hello\n", false), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(digest_of("", false), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

RC_GTEST_PROP(ContentDigest, DoesNotDependOnThePieces, (const std::string& first, const std::string& second)) {
  for (const bool is_large : {false, true}) {
    ContentDigest digest({"x", first.size() + second.size(), "", is_large});
    digest.add("what was fetched in vain");
    digest.reset();
    digest.add(first);
    digest.add(second);
    RC_ASSERT(digest.finish() == digest_of(first + second, is_large));
  }
}

}  // namespace
}  // namespace attention_plasticity
