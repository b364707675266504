#include "attention_plasticity/stats/householder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

namespace attention_plasticity {
namespace {

double norm(const std::vector<double>& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }

std::vector<double> applied(const Householder& h, std::vector<double> x) {
  h.apply(x);
  return x;
}

rc::Gen<std::vector<double>> vectors(std::size_t size) {
  return rc::gen::container<std::vector<double>>(
      size, rc::gen::map(rc::gen::inRange(-1000, 1001), [](int i) { return i / 100.0; }));
}

RC_GTEST_PROP(Householder, SendsSlopeToFirstAxis, ()) {
  const auto beta = *vectors(7);
  RC_PRE(norm(beta) > 0);
  const auto reflected = applied(Householder(beta), beta);
  RC_ASSERT(std::abs(reflected[0] - norm(beta)) < 1e-12 * norm(beta));
  for (std::size_t i = 1; i < reflected.size(); ++i) RC_ASSERT(std::abs(reflected[i]) < 1e-12 * norm(beta));
}

RC_GTEST_PROP(Householder, KeepsLengthsAndUndoesItself, ()) {
  const Householder h(*vectors(5));
  const auto x = *vectors(5);
  const auto once = applied(h, x);
  RC_ASSERT(std::abs(norm(once) - norm(x)) <= 1e-12 * (1 + norm(x)));
  const auto twice = applied(h, once);
  for (std::size_t i = 0; i < x.size(); ++i) RC_ASSERT(std::abs(twice[i] - x[i]) <= 1e-12 * (1 + norm(x)));
}

TEST(Householder, IsIdentityForNoSlopeAndForFirstAxis) {
  const std::vector<double> x{1, 2, 3};
  EXPECT_EQ(applied(Householder(std::vector<double>{0, 0, 0}), x), x);
  EXPECT_EQ(applied(Householder(std::vector<double>{1e-13, 0, 0}), x), x);
  EXPECT_EQ(applied(Householder(std::vector<double>{5, 0, 0}), x), x);
  EXPECT_EQ(applied(Householder(std::vector<double>{1, 1e-13, 0}), x), x);
}

TEST(Householder, ReflectsNegativeAxis) {
  EXPECT_EQ(applied(Householder(std::vector<double>{-2, 0}), {3, 4}), (std::vector<double>{-3, 4}));
}

TEST(Householder, KnowsTheDirectionOfAnySlopeButZero) {
  EXPECT_TRUE(Householder(std::vector<double>{0, 0}).direction().empty());
  const Householder tiny(std::vector<double>{0, -1e-13});
  EXPECT_TRUE(tiny.axis().empty());
  EXPECT_EQ(std::vector(tiny.direction().begin(), tiny.direction().end()), (std::vector<double>{0, -1}));
}

TEST(Householder, WorksInOneDimension) {
  EXPECT_EQ(applied(Householder(std::vector<double>{-2}), {3}), (std::vector<double>{-3}));
  EXPECT_EQ(applied(Householder(std::vector<double>{2}), {3}), (std::vector<double>{3}));
}

}  // namespace
}  // namespace attention_plasticity
