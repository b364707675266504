#include "attention_plasticity/stats/student.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace attention_plasticity {
namespace {

// Closed forms of the two-sided p for 1 to 4 degrees of freedom.
double closed_form(double t, int degrees) {
  switch (degrees) {
    case 1:
      return 2 / std::numbers::pi * std::atan(1 / t);
    case 2:
      // 1 - t / sqrt(2 + t²), without cancellation.
      return 2 / (2 + t * t) / (1 + t / std::sqrt(2 + t * t));
    case 3: {
      const double theta = std::atan(std::sqrt(3) / t);
      return 2 / std::numbers::pi * (theta - std::sin(theta) * std::cos(theta));
    }
    default: {
      const double s = t / std::sqrt(4 + t * t);  // sin(atan(t / 2))
      return 1 - s * (1 + (1 - s * s) / 2);
    }
  }
}

TEST(StudentP, IsTheClosedFormForFewDegrees) {
  for (const double t : {0.01, 0.3, 1.0, 2.5, 7.0}) {
    for (const int degrees : {1, 2, 3, 4}) {
      EXPECT_NEAR(student_p(t, degrees), closed_form(t, degrees), 1e-13) << t << " " << degrees;
    }
  }
}

TEST(StudentP, KeepsTheDigitsOfSmallValues) {
  for (const double t : {1e3, 1e6, 1e12, 1e100}) {
    EXPECT_NEAR(student_p(t, 1) / closed_form(t, 1), 1, 1e-12) << t;
    EXPECT_NEAR(student_p(t, 2) / closed_form(t, 2), 1, 1e-12) << t;
  }
}

// Critical values of printed tables: 2.093 and 2.861 for 19 degrees of freedom at 5 % and 1 %.
TEST(StudentP, AgreesWithCriticalValues) {
  EXPECT_NEAR(student_p(2.093024, 19), 0.05, 1e-7);
  EXPECT_NEAR(student_p(2.860935, 19), 0.01, 1e-7);
  EXPECT_NEAR(student_p(1.959964, 1e7), 0.05, 1e-6) << "nearly normal";
}

TEST(StudentP, IsSymmetricAndMonotone) {
  double before = 1;
  for (double t = 0; t < 50; t += 0.37) {
    const double p = student_p(t, 15);
    EXPECT_EQ(student_p(-t, 15), p);
    EXPECT_LE(p, before);
    before = p;
  }
}

TEST(StudentP, OfEdges) {
  EXPECT_EQ(student_p(0, 5), 1);
  EXPECT_EQ(student_p(std::numeric_limits<double>::infinity(), 5), 0);
  EXPECT_TRUE(std::isnan(student_p(std::nan(""), 5)));
  EXPECT_EQ(student_p(1e200, 19), 0) << "t² overflows";
}

}  // namespace
}  // namespace attention_plasticity
