#include "attention_plasticity/figure/mean_error.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace attention_plasticity {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// Jackknife errors of heads (0, 0) and (0, 1): sqrt(2/3 * 2) d with values -d, 0, d around their mean.
double error_of(double step) { return step * std::sqrt(4.0 / 3); }

std::string groups(const char* second) {
  std::string text = "layer,q_head,k_head,group,ap_overall,ap_exact\n0,0,0,0,1,0.4\n0,0,0,1,1,0.5\n0,0,0,2,1,0.6\n";
  text += second;
  return text;
}

TEST(MeanError, OfOneHeadIsItsOwn) {
  const std::array one{HeadError{{0, 0}, 7, 0.25}};
  EXPECT_EQ(MeanError().of(one), 0.25);
  EXPECT_EQ(MeanError(parse_csv(groups(""))).of(one), 0.25);
}

TEST(MeanError, WithoutGroupsIsTheWeightedMeanOfTheErrors) {
  const MeanError bound;
  EXPECT_TRUE(bound.is_bound());
  EXPECT_DOUBLE_EQ(bound.of(std::array{HeadError{{0, 0}, 1, 0.1}, HeadError{{0, 1}, 3, 0.2}}), 0.175);
}

TEST(MeanError, OfHeadsThatMoveTogetherIsTheBound) {
  const MeanError error(parse_csv(groups("0,1,0,0,1,0.2\n0,1,0,1,1,0.5\n0,1,0,2,1,0.8\n")));
  EXPECT_FALSE(error.is_bound());
  EXPECT_NEAR(error.of(std::array{HeadError{{0, 0}, 1, 0.1}, HeadError{{0, 1}, 3, 0.2}}), 0.175, 1e-15);
}

TEST(MeanError, OfHeadsThatMoveApartIsSmaller) {
  // The second head falls where the first one rises, by half as much: (1 - 0.5) / (1 + 0.5) of the bound.
  const MeanError error(parse_csv(groups("0,1,0,0,1,0.75\n0,1,0,1,1,0.7\n0,1,0,2,1,0.65\n")));
  EXPECT_NEAR(error.of(std::array{HeadError{{0, 0}, 2, 0.3}, HeadError{{0, 1}, 2, 0.3}}), 0.1, 1e-14);
  // With whole-head errors in place of those of a bucket it is the jackknife of the mean itself.
  const std::array heads{HeadError{{0, 0}, 1, error_of(0.1)}, HeadError{{0, 1}, 1, error_of(0.05)}};
  EXPECT_NEAR(error.of(heads), error_of(0.025), 1e-15);
}

TEST(MeanError, LeavesOutHeadsWithoutErrors) {
  const MeanError error(parse_csv(groups("0,1,0,0,1,0.75\n0,1,0,1,1,0.7\n0,1,0,2,1,0.65\n")));
  EXPECT_EQ(error.of(std::array{HeadError{{0, 0}, 2, unknown}, HeadError{{0, 1}, 2, 0.3}}), 0.3);
  EXPECT_TRUE(std::isnan(error.of(std::array{HeadError{{0, 0}, 2, unknown}})));
  EXPECT_TRUE(std::isnan(error.of({})));
}

TEST(MeanError, GroupsThatTellNothingGiveTheBound) {
  const std::array heads{HeadError{{0, 0}, 1, 0.1}, HeadError{{0, 1}, 3, 0.2}};
  EXPECT_TRUE(MeanError(parse_csv("layer,q_head,k_head,group,ap_overall\n0,0,0,0,1\n")).is_bound());
  // Other numbers of groups, an empty value, and no spread at all.
  EXPECT_DOUBLE_EQ(MeanError(parse_csv(groups("0,1,0,0,1,0.1\n0,1,0,1,1,0.2\n0,1,0,2,1,0.3\n0,1,0,3,1,0\n"))).of(heads),
                   0.175);
  EXPECT_DOUBLE_EQ(MeanError(parse_csv("layer,q_head,k_head,group,ap_overall,ap_exact\n0,0,0,0,1,\n0,0,0,1,1,0.5\n"
                                       "0,0,0,2,1,0.5\n"))
                       .of(heads),
                   0.175);
  EXPECT_DOUBLE_EQ(
      MeanError(parse_csv("layer,q_head,k_head,group,ap_exact\n0,0,0,0,1\n0,0,0,1,1\n0,0,0,2,1\n")).of(heads), 0.175);
}

}  // namespace
}  // namespace attention_plasticity
