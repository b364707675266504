#include "attention_plasticity/rotation/dump_rotation.h"

#include <gtest/gtest.h>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr const char* small_llama = R"({"model_type": "llama", "head_dim": 4, "rope_theta": 100.0})";
constexpr const char* novel = R"({"model_type": "novel", "n_head": 12})";

double not_needed() {
  ADD_FAILURE() << "the rotation does not depend on positions";
  return 0;
}

std::optional<DumpRotation> found(const StatedRotation& stated) { return find_rotation(stated, not_needed); }

TEST(FindRotation, PrefersSettingsToAGivenConfigAndThatToAFoundOne) {
  const std::vector<ModelConfigText> configs{{"a", novel}, {"b", small_llama}};
  const ModelConfigText given{"given", R"({"model_type": "llama", "head_dim": 4, "rope_theta": 225.0})"};
  const RotarySettings settings{.theta = 900, .dim = 2};
  EXPECT_EQ(found({.found = configs})->layer(0, 4).theta, 100);
  EXPECT_EQ(found({.given = given, .found = configs})->layer(0, 4).theta, 225);
  EXPECT_EQ(found({.settings = settings, .given = given, .found = configs})->layer(0, 4).theta, 900);
  const auto none = found({.is_none = true, .settings = settings, .given = given, .found = configs});
  EXPECT_EQ(none->layer(0, 4).kind, RotaryKind::none);
  EXPECT_EQ(none->source, RotationSource::flags);
  EXPECT_EQ(found({.settings = settings})->source, RotationSource::flags);
  EXPECT_EQ(found({.given = given})->source, RotationSource::config);
  EXPECT_FALSE(found({}));
}

TEST(FindRotation, LeavesOutFoundConfigsThatDescribeNone) {
  const std::vector<ModelConfigText> configs{{"a", "{"}, {"b", novel}};
  EXPECT_FALSE(found({.found = configs}));
  const std::vector<ModelConfigText> unknown{{"a", R"({"model_type": "llama", "rope_scaling": {"type": "odd"}})"}};
  try {
    found({.found = unknown});
    FAIL() << "an unknown kind of rotation was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.file(), "a");
  }
}

TEST(FindRotation, RefusesAGivenConfigThatDescribesNone) {
  const auto refusal = [](const char* text) {
    try {
      found({.given = ModelConfigText{"given", text}});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_EQ(error.file(), "given");
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  EXPECT_EQ(refusal(novel),
            "rope_config: describes no rotation; pass `rope_theta`, or `rope: none` for a model without rotation");
  EXPECT_TRUE(refusal("[1]").starts_with("rope_config: ")) << refusal("[1]");
  EXPECT_NE(refusal(R"({"model_type": "llama", "rope_scaling": {"type": "odd"}})").find("odd"), std::string::npos);
}

TEST(FindRotation, AsksForTheLargestPositionWhereItMatters) {
  const RotarySettings settings{.theta = 100,
                                .scaling = R"({"rope_type": "longrope", "short_factor": [1, 1], "long_factor": [2, 4],
                                    "original_max_position_embeddings": 64, "max_position_embeddings": 256})"};
  const auto frequency = [&](double largest) {
    return find_rotation({.settings = settings}, [&] { return largest; })->layer(0, 4).rotation.frequency;
  };
  EXPECT_EQ(frequency(63), (std::vector<double>{1.0, 0.1}));
  EXPECT_EQ(frequency(64), (std::vector<double>{0.5, 0.025}));
}

TEST(LayersByRotation, GroupsLayers) {
  const DumpRotation rotation{ModelRotation::of_settings({.theta = 100}, std::vector<int>{1}), 0};
  const std::vector<LayersOfRotation> groups = layers_by_rotation(rotation, {{0, 4}, {1, 4}, {2, 4}});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].rotation, "default, theta 100, all 4 components, half");
  EXPECT_EQ(groups[0].layers, (std::vector<int>{0, 2}));
  EXPECT_EQ(groups[1].rotation, "none");
  EXPECT_EQ(groups[1].layers, std::vector<int>{1});
}

}  // namespace
}  // namespace attention_plasticity
