#include "attention_plasticity/capture/tensor_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attention_plasticity/base/half_float.h"

namespace attention_plasticity {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

TEST(TensorView, GathersVectorsWithAnyStrides) {
  // Component c of token t of head h is 100 h + 10 t + c, stored in the order component, head, token.
  std::vector<float> stored(3 * 2 * 4);
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t t = 0; t < 4; ++t) stored[(c * 2 + h) * 4 + t] = static_cast<float>(100 * h + 10 * t + c);
    }
  }
  const TensorView tensor{stored.data(), ElementType::float32, {2, 4, 3}, {4, 1, 8}};
  std::vector<std::byte> scratch(head_bytes(tensor));
  std::vector<float> out(12);
  widen_elements(head_vectors(tensor, 1, scratch), ElementType::float32, out);
  EXPECT_EQ(out, (std::vector<float>{100, 101, 102, 110, 111, 112, 120, 121, 122, 130, 131, 132}));
  EXPECT_EQ(shape_text(tensor), "2 x 4 x 3");
}

TEST(TensorView, BorrowsRowsThatAdjoin) {
  const std::vector<float> stored(24);
  const TensorView tensor{stored.data(), ElementType::float32, {2, 4, 3}, {12, 3, 1}};
  EXPECT_EQ(static_cast<const void*>(head_vectors(tensor, 1, {}).data()), stored.data() + 12);
  const TensorView none{nullptr, ElementType::float32, {2, 0, 3}, {0, 3, 1}};
  EXPECT_TRUE(head_vectors(none, 1, {}).empty());
}

TEST(HalfFloat, HasTheValuesOfTheStandard) {
  EXPECT_EQ(float_of_half(0x3C00), 1.0F);
  EXPECT_EQ(float_of_half(0xC000), -2.0F);
  EXPECT_EQ(float_of_half(0x7BFF), 65504.0F);
  EXPECT_EQ(float_of_half(0x0001), 0x1p-24F);
  EXPECT_EQ(float_of_half(0x8000), 0.0F);
  EXPECT_TRUE(std::signbit(float_of_half(0x8000)));
  EXPECT_EQ(float_of_half(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(float_of_half(0x7E00)));
  EXPECT_EQ(float_of_bfloat16(0x3F80), 1.0F);
  EXPECT_EQ(float_of_bfloat16(0xC040), -3.0F);
}

TEST(TensorView, FindsNumbersThatAreNotFinite) {
  using Limits = std::numeric_limits<float>;
  const auto finite = [](std::vector<float> values) {
    return all_elements_finite(bytes_of(values), ElementType::float32);
  };
  EXPECT_TRUE(finite({0, -1, Limits::max(), Limits::denorm_min()}));
  EXPECT_FALSE(finite({0, Limits::infinity(), 1}));
  EXPECT_FALSE(finite({Limits::quiet_NaN()}));
  EXPECT_TRUE(all_elements_finite(bytes_of(std::vector<std::uint16_t>{0x7BFF, 0x8001}), ElementType::float16));
  EXPECT_FALSE(all_elements_finite(bytes_of(std::vector<std::uint16_t>{1, 0xFC00}), ElementType::float16));
  EXPECT_TRUE(all_elements_finite(bytes_of(std::vector<std::uint16_t>{0x7C00, 0x7F7F}), ElementType::bfloat16));
  EXPECT_FALSE(all_elements_finite(bytes_of(std::vector<std::uint16_t>{0x7FC0}), ElementType::bfloat16));
}

}  // namespace
}  // namespace attention_plasticity
