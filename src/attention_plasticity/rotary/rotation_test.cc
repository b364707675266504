#include "attention_plasticity/rotation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace attention_plasticity {
namespace {

using Vector = std::vector<double>;

Rotation standard(RotaryLayout layout, std::size_t pairs) {
  Rotation rotation{.layout = layout, .frequency = {}, .attention_factor = 1};
  for (std::size_t i = 0; i < pairs; ++i) {
    rotation.frequency.push_back(std::pow(10000, -static_cast<double>(i) / static_cast<double>(pairs)));
  }
  return rotation;
}

Vector rotated(const Rotation& rotation, Vector vector, double tokens) {
  rotation.rotate(vector, tokens);
  return vector;
}

double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

double distance(const Vector& a, const Vector& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// A rotation of 1 to 5 pairs and vectors with up to 3 components that are not rotated.
struct Case {
  Rotation rotation;
  std::size_t width;
};

Case any_case() {
  const auto layout = *rc::gen::element(RotaryLayout::half, RotaryLayout::interleaved);
  const auto pairs = *rc::gen::inRange<std::size_t>(1, 6);
  return {standard(layout, pairs), 2 * pairs + *rc::gen::inRange<std::size_t>(0, 4)};
}

Vector any_vector(std::size_t width) {
  Vector vector(width);
  for (double& x : vector) x = *rc::gen::inRange(-1000, 1001) / 256.0;
  return vector;
}

double any_position() { return *rc::gen::inRange(-5000, 5001) / 2.0; }

TEST(Rotation, RotatesComponentsHalfTheDimApart) {
  const Rotation rotation{.layout = RotaryLayout::half, .frequency = {0.5, 0.25}, .attention_factor = 3};
  const Vector v = rotated(rotation, {1, 2, 3, 4, 5}, 2);
  EXPECT_DOUBLE_EQ(v[0], 1 * std::cos(1.0) - 3 * std::sin(1.0));
  EXPECT_DOUBLE_EQ(v[2], 1 * std::sin(1.0) + 3 * std::cos(1.0));
  EXPECT_DOUBLE_EQ(v[1], 2 * std::cos(0.5) - 4 * std::sin(0.5));
  EXPECT_DOUBLE_EQ(v[3], 2 * std::sin(0.5) + 4 * std::cos(0.5));
  EXPECT_EQ(v[4], 5) << "nothing beyond dim() is rotated";
}

TEST(Rotation, RotatesNeighboursWhenInterleaved) {
  const Rotation rotation{.layout = RotaryLayout::interleaved, .frequency = {0.5, 0.25}, .attention_factor = 1};
  const Vector v = rotated(rotation, {1, 2, 3, 4, 5}, 2);
  EXPECT_DOUBLE_EQ(v[0], 1 * std::cos(1.0) - 2 * std::sin(1.0));
  EXPECT_DOUBLE_EQ(v[1], 1 * std::sin(1.0) + 2 * std::cos(1.0));
  EXPECT_DOUBLE_EQ(v[2], 3 * std::cos(0.5) - 4 * std::sin(0.5));
  EXPECT_DOUBLE_EQ(v[3], 3 * std::sin(0.5) + 4 * std::cos(0.5));
  EXPECT_EQ(v[4], 5);
}

TEST(Rotation, WithoutFrequenciesIsTheIdentity) {
  EXPECT_EQ(Rotation{}.dim(), 0U);
  EXPECT_EQ(rotated(Rotation{}, {1, 2, 3}, 7), (Vector{1, 2, 3}));
}

RC_GTEST_PROP(Rotation, RotationsAddUp, ()) {
  const Case any = any_case();
  const Vector v = any_vector(any.width);
  const double a = any_position();
  const double b = any_position();
  RC_ASSERT(distance(rotated(any.rotation, rotated(any.rotation, v, a), b), rotated(any.rotation, v, a + b)) < 1e-11);
}

RC_GTEST_PROP(Rotation, UnrotatingUndoesIt, ()) {
  const Case any = any_case();
  const Vector v = any_vector(any.width);
  const double t = any_position();
  RC_ASSERT(distance(rotated(any.rotation, rotated(any.rotation, v, t), -t), v) < 1e-13);
}

RC_GTEST_PROP(Rotation, KeepsTheNorm, ()) {
  const Case any = any_case();
  const Vector v = any_vector(any.width);
  const Vector w = rotated(any.rotation, v, any_position());
  RC_ASSERT(std::abs(dot(w, w) - dot(v, v)) <= 1e-14 * (1 + dot(v, v)));
}

RC_GTEST_PROP(Rotation, ProductsDependOnTheDistanceOnly, ()) {
  const Case any = any_case();
  const Vector q = any_vector(any.width);
  const Vector k = any_vector(any.width);
  const double distance_in_tokens = any_position();
  const auto product = [&](double t) {
    return dot(rotated(any.rotation, q, t), rotated(any.rotation, k, t - distance_in_tokens));
  };
  RC_ASSERT(std::abs(product(any_position()) - product(0)) < 1e-9);
}

RC_GTEST_PROP(Rotation, LayoutsDifferByAPermutation, ()) {
  const auto pairs = *rc::gen::inRange<std::size_t>(1, 6);
  const Vector interleaved = any_vector(2 * pairs);
  const double t = any_position();
  const auto apart = [&](const Vector& v) {
    Vector half(v.size());
    for (std::size_t i = 0; i < pairs; ++i) {
      half[i] = v[2 * i];
      half[i + pairs] = v[2 * i + 1];
    }
    return half;
  };
  RC_ASSERT(rotated(standard(RotaryLayout::half, pairs), apart(interleaved), t) ==
            apart(rotated(standard(RotaryLayout::interleaved, pairs), interleaved, t)));
}

TEST(Rotation, LeavesTheComponentsBeforeTheFirst) {
  const Rotation rotation{RotaryLayout::half, {1.0, 0.1}, 1, 3};
  std::vector<double> vector{1, 2, 3, 4, 5, 6, 7, 8};
  rotation.rotate(vector, 2);
  std::vector<double> part{4, 5, 6, 7};
  Rotation{RotaryLayout::half, {1.0, 0.1}, 1}.rotate(part, 2);
  EXPECT_EQ(vector, (std::vector<double>{1, 2, 3, part[0], part[1], part[2], part[3], 8}));
}

}  // namespace
}  // namespace attention_plasticity
