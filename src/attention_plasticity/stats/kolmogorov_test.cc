#include "attention_plasticity/stats/kolmogorov.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "places.h"

namespace attention_plasticity {
namespace {

struct Point {
  std::size_t n;
  double distance;
  double p;
};

double relative_error(const Point& point) {
  return std::abs(kolmogorov_survival(point.n, point.distance) / point.p - 1.0);
}

// Computed in 100-digit ball arithmetic for exactly these doubles: by Durbin's matrix; where it is too large, by the
// residues of the generating function with all branches; and by Smirnov's sum for the last ten.
constexpr Point exact[] = {
    {2000, 0.005, 0.99999999954095903093},
    {50000, 0.001, 0.99999999974713397907},
    {35, 0.3855, 3.4323887873440120587e-5},
    {50, 0.325, 3.3437878276593336196e-5},
    {200, 0.161, 5.3690466200321851859e-5},
    {3, 0.3, 0.88622222222222225064},
    {7, 0.25, 0.68854953346394784486},
    {18, 0.4875, 0.00018248331633537301472},
    {20, 0.46, 0.00021594520487839470732},
    {35, 0.35, 0.00024479651603650030873},
    {60, 0.2, 0.014023403960274734381},
    {100, 0.13, 0.062092340698765651451},
    {100, 0.1401, 0.035621261098678998742},
    {140, 0.177, 0.00026231081990097983272},
    {141, 0.11436423088083329, 0.046114607562240449896},
    {200, 0.1, 0.034110070781484969489},
    {400, 0.1048, 0.00028019242669728688193},
    {500, 0.0275, 0.83363387531484935482},
    {500, 0.029, 0.78308659922672853067},
    {1000, 0.06, 0.0014285978874661185726},
    {5000, 0.02936, 0.00035344035887121870514},
    {50000, 0.0027, 0.85829348035714785916},
    {50000, 0.00935, 0.00031736205622591019337},
    {1000000, 0.00075, 0.62688659428454919388},
    {1000000, 0.0021, 0.00029508134175091022624},
    {1000000, 0.002086, 0.00033177883543536496112},
    {8, 0.7, 0.00018809875976562525486},
    {10, 0.66, 8.3722253024952230350e-5},
    {10, 0.75, 2.4865039062500000000e-6},
    {100, 0.45, 5.3249954196570991877e-19},
    {1000, 0.2, 1.5528629204250536305e-35},
    {2500, 0.3, 4.8806825490022936030e-200},
    {5000, 0.15, 1.1243331036053069038e-98},
    {20000, 0.02, 2.2181270070049744757e-7},
    {50000, 0.01342, 2.9879871556660773752e-8},
    {50000, 0.067, 1.3574820327465292669e-195},
};

// SciPy 1.17's value for this point, 0.04611512141658225, is wrong by 1.1e-5: its expansion is worst at n = 141.
constexpr Point golden_outlier{141, 0.11436423088083329, 0.046114607562240449896};

std::vector<Point> golden_points() {
  std::ifstream file(source_folder() / "tests/golden/kolmogorov_sf.csv");
  std::string line;
  std::getline(file, line);
  std::vector<Point> points;
  while (std::getline(file, line)) {
    char* end = nullptr;
    Point point{};
    point.n = std::strtoull(line.c_str(), &end, 10);
    point.distance = std::strtod(end + 1, &end);
    point.p = std::strtod(end + 1, &end);
    points.push_back(point);
  }
  return points;
}

/// The distance with n distance^2 = z_squared.
double distance_at(std::size_t n, double z_squared) { return std::sqrt(z_squared / static_cast<double>(n)); }

TEST(KolmogorovSurvival, IsWithinItsStatedErrorOfExactArithmetic) {
  for (const Point& point : exact) {
    const double z_squared = static_cast<double>(point.n) * point.distance * point.distance;
    const bool at_ease = z_squared < 2.0 || z_squared > 5.0 || point.distance >= 0.5;
    EXPECT_LE(relative_error(point), at_ease ? 2e-13 : 1e-11) << "n = " << point.n << ", distance = " << point.distance;
  }
}

TEST(KolmogorovSurvival, AgreesWithSciPyAsFarAsSciPyIsRight) {
  const auto points = golden_points();
  ASSERT_EQ(points.size(), 449U);
  for (Point point : points) {
    if (point.n == golden_outlier.n && point.distance == golden_outlier.distance) point.p = golden_outlier.p;
    SCOPED_TRACE(testing::Message() << "n = " << point.n << ", distance = " << point.distance);
    if (point.p < 1e-290) {
      EXPECT_NEAR(kolmogorov_survival(point.n, point.distance), point.p, 1e-14);
    } else {
      EXPECT_LE(relative_error(point), point.n <= 140 ? 1e-10 : 1e-5);
    }
  }
}

TEST(KolmogorovSurvival, HasItsClosedFormsForOneTwoAndThreeValues) {
  for (int step = 0; step <= 100; ++step) {
    const double d = step / 100.0;
    EXPECT_NEAR(kolmogorov_survival(1, d), d <= 0.5 ? 1.0 : 2.0 - 2.0 * d, 1e-15) << d;
    const double two =
        d <= 0.25 ? 1.0 : (d <= 0.5 ? 1.0 - 2.0 * (2.0 * d - 0.5) * (2.0 * d - 0.5) : 2.0 * (1.0 - d) * (1.0 - d));
    EXPECT_NEAR(kolmogorov_survival(2, d), two, 1e-15) << d;
  }
  // n = 3 at distance 1/3 and 2/3: 1 - 3! / 27 and 2 / 27.
  EXPECT_NEAR(kolmogorov_survival(3, 1.0 / 3.0), 21.0 / 27.0, 1e-15);
  EXPECT_NEAR(kolmogorov_survival(3, 2.0 / 3.0), 2.0 / 27.0, 1e-15);
}

TEST(KolmogorovSurvival, TendsToKolmogorovsSeries) {
  constexpr std::size_t n = 1'000'000'000'000;
  for (const double z : {0.4, 0.8, 1.2, 2.0, 3.0, 8.0}) {
    double limit = 0.0;
    for (int k = 30; k >= 1; --k) limit += (k % 2 == 1 ? 2.0 : -2.0) * std::exp(-2.0 * k * k * z * z);
    // The distribution for n is the limit shifted by 1 / (6 sqrt n), up to about z^4 / n.
    const double d = (z - 1.0 / 6e6) / 1e6;
    EXPECT_NEAR(kolmogorov_survival(n, d) / limit, 1.0, 1e-12 * (1.0 + z * z * z * z)) << z;
  }
}

TEST(KolmogorovSurvival, IsCertainBelowTheLeastDistanceAndImpossibleAboveOne) {
  for (const std::size_t n : {1U, 2U, 10U, 141U, 50000U}) {
    const auto size = static_cast<double>(n);
    EXPECT_EQ(kolmogorov_survival(n, -0.1), 1.0);
    EXPECT_EQ(kolmogorov_survival(n, 0.0), 1.0);
    EXPECT_EQ(kolmogorov_survival(n, 0.5 / size), 1.0);
    EXPECT_EQ(kolmogorov_survival(n, 1.0), 0.0);
    EXPECT_EQ(kolmogorov_survival(n, std::numeric_limits<double>::infinity()), 0.0);
    EXPECT_TRUE(std::isnan(kolmogorov_survival(n, std::numeric_limits<double>::quiet_NaN())));
  }
  EXPECT_EQ(kolmogorov_survival(0, 0.3), 1.0);
}

TEST(KolmogorovSurvival, UnderflowsQuietly) {
  EXPECT_GT(kolmogorov_survival(50000, 0.083), 0.0);
  EXPECT_LT(kolmogorov_survival(50000, 0.083), 1e-298);
  EXPECT_EQ(kolmogorov_survival(50000, 0.1), 0.0);
  EXPECT_EQ(kolmogorov_survival(1'000'000, 0.999), 0.0);
  EXPECT_EQ(kolmogorov_survival(400, 0.9), 0.0);
}

TEST(KolmogorovSurvival, HasNoJumpWhereOneFormulaHandsOverToTheNext) {
  // The relative jump, without the part that the slope d log p / d log distance explains.
  const auto jump = [](std::size_t n, double border, double slope) {
    constexpr double nudge = 1e-14;
    const double before = kolmogorov_survival(n, border * (1.0 - nudge));
    const double after = kolmogorov_survival(n, border * (1.0 + nudge));
    return std::abs(before - after) / before - 2.0 * nudge * slope;
  };
  for (const std::size_t n : {4U, 9U, 18U, 30U, 48U, 60U, 140U, 141U, 700U, 2047U, 2048U, 7000U, 50000U, 999999U}) {
    const auto size = static_cast<double>(n);
    SCOPED_TRACE(n);
    EXPECT_LE(jump(n, 1.0 / size, 2.0), 1e-11);
    EXPECT_LE(jump(n, (std::sqrt(0.027 * size) - 1.0 / 6.0) / size, 0.0), 1e-11);
    if (n >= 18) {
      EXPECT_LE(jump(n, 14.0 / size, 4.0 * 14.0 * 14.0 / size), 1e-11);
      EXPECT_LE(jump(n, distance_at(n, 4.4), 4.0 * 4.4), 1e-11);
    }
    if (n < 100) {
      EXPECT_LE(jump(n, 0.5, 2.0 * size), 1e-11);
      EXPECT_LE(jump(n, 1.0 - 1.0 / size, size * size), 1e-11);
    }
  }
}

RC_GTEST_PROP(KolmogorovSurvival, FallsAsTheDistanceGrowsAndStaysInRange, ()) {
  const auto n = static_cast<std::size_t>(std::exp2(*rc::gen::inRange(0, 20000) / 1000.0));
  const double z_squared = *rc::gen::inRange(1, 700000) / 100000.0;
  const double d = distance_at(n, z_squared);
  const double p = kolmogorov_survival(n, d);
  const double further = kolmogorov_survival(n, d * (1.0 + 1e-6));
  RC_ASSERT(p >= 0.0);
  RC_ASSERT(p <= 1.0);
  RC_ASSERT(further <= p);
}

}  // namespace
}  // namespace attention_plasticity
