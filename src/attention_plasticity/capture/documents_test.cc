#include "attention_plasticity/capture/documents.h"

#include <gtest/gtest.h>

namespace attention_plasticity {
namespace {

using Ranges = std::vector<TokenRange>;

TEST(Documents, LongTextsAreCut) {
  EXPECT_EQ(documents_of(250, 100, LongTexts::cut), (Ranges{{0, 100}}));
  EXPECT_EQ(documents_of(100, 100, LongTexts::cut), (Ranges{{0, 100}}));
  EXPECT_EQ(documents_of(30, 100, LongTexts::cut), (Ranges{{0, 30}}));
}

TEST(Documents, LongTextsBecomeSeveral) {
  EXPECT_EQ(documents_of(30, 100, LongTexts::chunk), (Ranges{{0, 30}}));
  EXPECT_EQ(documents_of(200, 100, LongTexts::chunk), (Ranges{{0, 100}, {100, 200}}));
  EXPECT_EQ(documents_of(350, 100, LongTexts::chunk), (Ranges{{0, 100}, {100, 200}, {200, 300}}));
}

TEST(Documents, ARestOfHalfADocumentIsLeftOut) {
  EXPECT_EQ(documents_of(250, 100, LongTexts::chunk), (Ranges{{0, 100}, {100, 200}}));
  EXPECT_EQ(documents_of(251, 100, LongTexts::chunk), (Ranges{{0, 100}, {100, 200}, {200, 251}}));
  EXPECT_EQ(documents_of(14, 9, LongTexts::chunk), (Ranges{{0, 9}, {9, 14}}));
  EXPECT_EQ(documents_of(13, 9, LongTexts::chunk), (Ranges{{0, 9}}));
  EXPECT_EQ(documents_of(3, 1, LongTexts::chunk), (Ranges{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(Documents, NoTokensAreNoDocument) { EXPECT_EQ(documents_of(0, 100, LongTexts::chunk), Ranges{}); }

// hashlib.sha256 of the same bytes, made with struct.pack('<q...').
TEST(Documents, TheDigestIsThatOfTheTransformersWay) {
  EXPECT_EQ(documents_digest({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(documents_digest(std::vector<std::vector<std::int64_t>>{{1, 5, 300}, {7}}),
            "e3b6b5b2558a0ab6aa8043c7ec85996798db41e1804837406d89940dfc6fb154");
}

TEST(Documents, TheDigestTellsWhereADocumentEnds) {
  using Ids = std::vector<std::vector<std::int64_t>>;
  EXPECT_NE(documents_digest(Ids{{1, 2}, {3}}), documents_digest(Ids{{1}, {2, 3}}));
  EXPECT_NE(documents_digest(Ids{{1, 2}, {3}}), documents_digest(Ids{{3}, {1, 2}}));
}

}  // namespace
}  // namespace attention_plasticity
