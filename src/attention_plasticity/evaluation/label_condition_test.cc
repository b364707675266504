#include "attention_plasticity/evaluation/label_condition.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/base/refusal_testing.h"

namespace attention_plasticity {
namespace {

using Sign = LabelComparison::Sign;

TEST(LabelCondition, HasFourSigns) {
  const LabelCondition condition = parse_label_condition("a>0.1, b >= 2 ,c<-1e-3,d<=+5");
  ASSERT_EQ(condition.any_of.size(), 4U);
  EXPECT_EQ(condition.any_of[0].label, "a");
  EXPECT_EQ(condition.any_of[0].sign, Sign::above);
  EXPECT_EQ(condition.any_of[0].bound, 0.1);
  EXPECT_EQ(condition.any_of[1].sign, Sign::at_least);
  EXPECT_EQ(condition.any_of[2].sign, Sign::below);
  EXPECT_EQ(condition.any_of[2].bound, -1e-3);
  EXPECT_EQ(condition.any_of[3].sign, Sign::at_most);
  EXPECT_EQ(condition.text, "a>0.1,b>=2,c<-1e-3,d<=+5");
}

TEST(LabelCondition, IncludesTheBoundOnlyWhenTheSignDoes) {
  const auto holds = [](const char* text, double value) { return parse_label_condition(text).any_of[0].holds(value); };
  EXPECT_FALSE(holds("a>1", 1));
  EXPECT_TRUE(holds("a>1", 1.5));
  EXPECT_TRUE(holds("a>=1", 1));
  EXPECT_FALSE(holds("a>=1", 0.5));
  EXPECT_FALSE(holds("a<1", 1));
  EXPECT_TRUE(holds("a<1", 0.5));
  EXPECT_TRUE(holds("a<=1", 1));
  EXPECT_FALSE(holds("a<=1", 1.5));
  for (const char* text : {"a>1", "a>=1", "a<1", "a<=1"}) EXPECT_FALSE(holds(text, std::nan("")));
}

TEST(LabelCondition, RefusesOtherText) {
  for (const std::string text : {"", "a", "a=1", "a>", ">1", "a>x", "a>>1", "a=>1", "a>1,", ",a>1", "a>1<2", "a>nan"}) {
    const std::string message = refusal([&] { parse_label_condition(text); });
    EXPECT_NE(message.find("is not a condition such as induction>0.1"), std::string::npos) << text << ": " << message;
    EXPECT_TRUE(message.starts_with("usage: ")) << message;
  }
}

}  // namespace
}  // namespace attention_plasticity
