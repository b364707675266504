#include "attention_plasticity/rotary/layer_list.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/rotation.h"

namespace attention_plasticity {
namespace {

std::string refusal_of(const std::string& text) {
  try {
    ModelRotation::of_model_config(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(LayerList, GivesEachLayerItsOwnRotation) {
  const auto model = ModelRotation::of_model_config(R"({
    "model_type": "cohere2", "rope_theta": 7, "head_dim": 8,
    "rope_rotations": [{"rope_type": "default", "rope_theta": 10000, "rope_dim": 8},
                       {"rope_type": "listed", "rope_theta": 500, "inv_freq": [0.5, 0.25], "attention_factor": 1.5,
                        "rope_first": 4, "rope_dim": 4}],
    "rope_layers": [1, null, 0]})");
  ASSERT_TRUE(model);
  const LayerRotation first = model->layer(0, 8);
  EXPECT_EQ(first.kind, RotaryKind::listed);
  EXPECT_EQ(first.theta, 500);
  EXPECT_EQ(first.rotation.layout, RotaryLayout::half);
  EXPECT_EQ(first.rotation.first, 4U);
  EXPECT_EQ(first.rotation.frequency, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(first.rotation.attention_factor, 1.5);
  EXPECT_EQ(model->layer(1, 8).kind, RotaryKind::none);
  EXPECT_EQ(model->layer(1, 8).rotation.dim(), 0U);
  const LayerRotation last = model->layer(2, 8);
  EXPECT_EQ(last.kind, RotaryKind::standard);
  ASSERT_EQ(last.rotation.frequency.size(), 4U);
  EXPECT_DOUBLE_EQ(last.rotation.frequency[1], std::pow(10000, -0.25));
  EXPECT_FALSE(model->depends_on_length());
}

TEST(LayerList, OfALayerThatItDoesNotListIsNotKnown) {
  const auto model = ModelRotation::of_model_config(R"({"rope_layers": [null]})");
  ASSERT_TRUE(model);
  EXPECT_THROW(model->layer(1, 8), Error);
}

TEST(LayerList, OfOtherWidthsThanItsVectorsIsRefused) {
  const auto model = ModelRotation::of_model_config(
      R"({"rope_layers": [0], "rope_rotations": [{"rope_type": "listed", "inv_freq": [1, 0.1], "rope_dim": 6}]})");
  ASSERT_TRUE(model);
  try {
    model->layer(0, 8);
    FAIL() << "two frequencies for three pairs were taken";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "inv_freq has 2 numbers; one for each of the 3 rotated pairs is expected");
  }
}

TEST(LayerList, ThatCannotBeUsedIsRefused) {
  EXPECT_EQ(refusal_of(R"({"rope_layers": 3})"), "rope_layers is 3; a list with an entry for each layer is expected");
  EXPECT_EQ(refusal_of(R"({"rope_layers": [0]})"),
            "rope_layers is a list of 1; a list of nulls and numbers of rope_rotations is expected");
  EXPECT_EQ(refusal_of(R"({"rope_layers": [null], "rope_rotations": [1]})"),
            "rope_rotations is a list of 1; a list of objects only is expected");
  EXPECT_EQ(refusal_of(R"({"rope_layers": [0], "rope_rotations": [{"rope_type": "listed"}]})"),
            "inv_freq is missing; rope_type listed needs a list of numbers not below 0");
  EXPECT_EQ(refusal_of(R"({"rope_layers": [0], "rope_rotations": [{"rope_type": "listed", "inv_freq": [-1]}]})"),
            "inv_freq is -1; a number not below 0 is expected");
}

}  // namespace
}  // namespace attention_plasticity
