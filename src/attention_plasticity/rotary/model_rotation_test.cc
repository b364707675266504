#include "attention_plasticity/rotation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "attention_plasticity/error.h"
#include "attention_plasticity/rotary/rotary_parameters.h"
#include "attention_plasticity/rotary/rotation_rules.h"

namespace attention_plasticity {
namespace {

RotarySettings scaled(const std::string& scaling, std::optional<double> theta = 10000) {
  RotarySettings settings;
  settings.theta = theta;
  settings.scaling = scaling;
  return settings;
}

std::string refusal(const RotarySettings& settings, std::size_t width = 8, double largest_position = 0) {
  try {
    ModelRotation::of_settings(settings).layer(0, width, largest_position);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "not refused";
}

TEST(ModelRotation, OfNoneTurnsNothing) {
  const ModelRotation none = ModelRotation::none();
  EXPECT_FALSE(none.depends_on_length());
  for (const int layer : {0, 1000}) {
    const LayerRotation rotation = none.layer(layer, 7, 1e9);
    EXPECT_EQ(rotation.kind, RotaryKind::none);
    EXPECT_EQ(rotation.theta, 0);
    EXPECT_EQ(rotation.rotation.dim(), 0U);
  }
}

TEST(ModelRotation, OfThetaAloneTurnsTheWholeWidthInHalves) {
  RotarySettings settings;
  settings.theta = 500;
  const ModelRotation model = ModelRotation::of_settings(settings);
  EXPECT_FALSE(model.depends_on_length());
  RotaryParameters theta_500;
  theta_500.theta = 500;
  for (const int layer : {0, 77}) {
    const LayerRotation rotation = model.layer(layer, 8, 0);
    EXPECT_EQ(rotation.kind, RotaryKind::standard);
    EXPECT_EQ(rotation.theta, 500);
    EXPECT_EQ(rotation.rotation.layout, RotaryLayout::half);
    EXPECT_EQ(rotation.rotation.dim(), 8U);
    EXPECT_EQ(rotation.rotation.frequency, make_rotation(theta_500, 8, RotaryLayout::half, 0).frequency);
  }
}

TEST(ModelRotation, TakesDimAndLayoutFromSettings) {
  RotarySettings settings;
  settings.theta = 500;
  settings.dim = 6;
  settings.layout = RotaryLayout::interleaved;
  const Rotation rotation = ModelRotation::of_settings(settings).layer(0, 8, 0).rotation;
  EXPECT_EQ(rotation.dim(), 6U);
  EXPECT_EQ(rotation.layout, RotaryLayout::interleaved);
}

TEST(ModelRotation, TurnsTheComponentsFromTheFirstOn) {
  RotarySettings settings;
  settings.theta = 500;
  settings.first = 2;
  const Rotation rotation = ModelRotation::of_settings(settings).layer(0, 8, 0).rotation;
  EXPECT_EQ(rotation.first, 2U);
  EXPECT_EQ(rotation.dim(), 6U) << "all from the first on";
}

TEST(ModelRotation, LeavesOutLayersWithoutRotation) {
  RotarySettings settings;
  settings.theta = 500;
  const std::vector<int> without{1, 3};
  const ModelRotation model = ModelRotation::of_settings(settings, without);
  for (const int layer : {0, 2, 4}) EXPECT_EQ(model.layer(layer, 8, 0).rotation.dim(), 8U) << layer;
  for (const int layer : without) EXPECT_EQ(model.layer(layer, 8, 0).kind, RotaryKind::none) << layer;
}

TEST(ModelRotation, TakesThetaFromTheScaling) {
  EXPECT_EQ(ModelRotation::of_settings(scaled(R"({"rope_theta": 300})", std::nullopt)).layer(0, 8, 0).theta, 300);
  EXPECT_EQ(ModelRotation::of_settings(scaled(R"({"rope_theta": 300})", 300)).layer(0, 8, 0).theta, 300);
  EXPECT_EQ(refusal(scaled(R"({"rope_theta": 300})", 200)),
            "rope_theta is 200, rope_scaling.rope_theta 300; set only one of them");
}

TEST(ModelRotation, ReadsEveryKindOfScaling) {
  const auto layer = [](const std::string& scaling, double largest_position) {
    return ModelRotation::of_settings(scaled(scaling)).layer(0, 8, largest_position);
  };
  EXPECT_EQ(layer(R"({"rope_type": "default"})", 0).kind, RotaryKind::standard);
  EXPECT_EQ(layer(R"({"type": "linear", "factor": 2})", 0).rotation.frequency.front(), 0.5);
  const LayerRotation yarn = layer(R"({"rope_type": "yarn", "factor": 4, "attention_factor": 1.5, "mscale": 1,
      "mscale_all_dim": 1, "beta_fast": 16, "beta_slow": 2, "truncate": false,
      "original_max_position_embeddings": 64})",
                                   0);
  RotaryParameters expected;
  expected.kind = RotaryKind::yarn;
  expected.factor = 4;
  expected.attention_factor = 1.5;
  expected.beta_fast = 16;
  expected.beta_slow = 2;
  expected.truncate = false;
  expected.original_length = 64;
  EXPECT_EQ(yarn.kind, RotaryKind::yarn);
  EXPECT_EQ(yarn.rotation.attention_factor, 1.5);
  EXPECT_EQ(yarn.rotation.frequency, make_rotation(expected, 8, RotaryLayout::half, 0).frequency);
  const std::string longrope = R"({"rope_type": "longrope", "short_factor": [1, 1, 1, 1], "long_factor": [2, 2, 2, 2],
      "original_max_position_embeddings": 10, "max_position_embeddings": 100})";
  EXPECT_EQ(layer(longrope, 9).rotation.frequency.front(), 1);
  EXPECT_EQ(layer(longrope, 10).rotation.frequency.front(), 0.5);
  EXPECT_DOUBLE_EQ(layer(longrope, 10).rotation.attention_factor, std::sqrt(2.0));
}

TEST(ModelRotation, DependsOnTheLengthWhenLongropeOrDynamic) {
  EXPECT_TRUE(
      ModelRotation::of_settings(scaled(R"({"rope_type": "dynamic", "factor": 2, "max_position_embeddings": 100})"))
          .depends_on_length());
  EXPECT_TRUE(ModelRotation::of_settings(
                  scaled(R"({"rope_type": "longrope", "short_factor": [1], "long_factor": [1], "factor": 2,
                             "original_max_position_embeddings": 9})"))
                  .depends_on_length());
  EXPECT_FALSE(ModelRotation::of_settings(scaled(R"({"rope_type": "linear", "factor": 2})")).depends_on_length());
}

TEST(ModelRotation, RefusesSettingsThatCannotBeUsed) {
  RotarySettings settings;
  EXPECT_EQ(refusal(settings),
            "rope_theta is missing; set the base of the model's rotary frequencies (10000 in many models)");
  settings.theta = -1;
  EXPECT_EQ(refusal(settings), "rope_theta is -1; a number above 0 is expected");
  settings.theta = 10000;
  settings.dim = 7;
  EXPECT_EQ(refusal(settings), "rope_dim is 7; an even number above 0 is expected");
  settings.dim = 0;
  EXPECT_EQ(refusal(settings), "rope_dim is 0; an even number above 0 is expected");
  settings.dim = 10;
  EXPECT_EQ(refusal(settings), "the rotation has 10 components, the vectors have 8");
  settings.dim = 6;
  settings.first = 4;
  EXPECT_EQ(refusal(settings), "the rotation has 6 components from component 4 on, the vectors have 8");
  settings.first = 8;
  EXPECT_EQ(refusal(settings), "the first rotated component is 8, the vectors have 8");
  settings.first = 0;
  settings.dim.reset();
  EXPECT_EQ(refusal(settings, 7), "7 components cannot be rotated in pairs; an even number is expected");
}

TEST(ModelRotation, RefusesScalingsThatCannotBeUsed) {
  EXPECT_EQ(refusal(scaled("")), "rope_scaling is not valid JSON (at byte 1)");
  EXPECT_EQ(refusal(scaled("{\"factor\": 1e999}")), "rope_scaling holds a number that is too large");
  EXPECT_EQ(refusal(scaled("[4]")), "rope_scaling is a list of 1; a JSON object is expected");
  EXPECT_EQ(refusal(scaled("\"linear\"")), "rope_scaling is \"linear\"; a JSON object is expected");
  EXPECT_EQ(
      refusal(scaled(R"({"factor": 4})")),
      "rope_scaling.rope_type is missing; one of default, linear, dynamic, yarn, llama3, longrope, listed is expected");
  EXPECT_EQ(refusal(scaled(R"({"rope_type": 4})")), "rope_scaling.rope_type is 4; text is expected");
  EXPECT_EQ(refusal(scaled(R"({"rope_type": "linear", "factor": "4"})")),
            "rope_scaling.factor is \"4\"; a number is expected");
  EXPECT_EQ(refusal(scaled(R"({"rope_type": "yarn", "factor": 4, "truncate": 1})")),
            "rope_scaling.truncate is 1; true or false is expected");
  EXPECT_EQ(refusal(scaled(R"({"rope_type": "longrope", "long_factor": 4})")),
            "rope_scaling.long_factor is 4; a list of numbers is expected");
  EXPECT_EQ(refusal(scaled(R"({"rope_type": "longrope", "long_factor": [1, "2"]})")),
            "rope_scaling.long_factor is a list of 2; a list of numbers only is expected");
  EXPECT_EQ(refusal(scaled(R"({"rope_type": "linear", "factr": 4})")),
            "rope_scaling.factr: unknown key; did you mean factor?");
  EXPECT_EQ(refusal(scaled(R"({"rope_type": "linear", "temperature_of": 4})")).substr(0, 75),
            "rope_scaling.temperature_of: unknown key; the known keys are rope_type, typ");
  EXPECT_EQ(refusal(scaled(R"({"rope_type": "linear", "partial_rotary_factor": 0.5})")),
            "rope_scaling.partial_rotary_factor: set the number of rotated components with rope_dim");
  EXPECT_EQ(refusal(scaled(R"({"rope_type": "linear"})")),
            "factor is missing; rope_type linear needs a number above 0");
}

TEST(ModelRotation, RefusesKindsItDoesNotKnow) {
  EXPECT_EQ(
      refusal(scaled(R"({"rope_type": "proportional"})")),
      "rope_type is \"proportional\", which is none of default, linear, dynamic, yarn, llama3, longrope, listed; pass "
      "`rope_theta`, `rope_dim`, `rope_layout` and `rope_scaling` yourself, or `num_triples: 0` to leave "
      "position-exact plasticity out");
}

TEST(LayerPattern, RepeatsOrEnds) {
  const LayerPattern list{{4, 5, 6}, false};
  EXPECT_EQ(list.at(2), 6U);
  EXPECT_EQ(list.at(3), std::nullopt);
  EXPECT_EQ(list.at(-1), std::nullopt);
  const LayerPattern pattern{{4, 5, 6}, true};
  EXPECT_EQ(pattern.at(7), 5U);
  EXPECT_EQ(pattern.at(-1), std::nullopt);
}

}  // namespace
}  // namespace attention_plasticity
