#include "attention_plasticity/rotation/rotation_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "attention_plasticity/error.h"
#include "attention_plasticity/rotation/inference.h"
#include "attention_plasticity/rotation/rotated_rows_testing.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

DecidedRotation inferred() {
  RotatedHeads heads(6, 18, 1.5, [](int layer) {
    if (layer == 2) return Rotation{};
    return rotation_with(34567, 18, layer == 4 ? RotaryLayout::interleaved : RotaryLayout::half);
  });
  InferredRotation found = infer_rotation(heads.heads(), heads.rows());
  return {std::move(found.rotation), std::move(found.shares)};
}

DecidedRotation of_settings() {
  const RotarySettings settings{.theta = 1e4 / 3,
                                .dim = 8,
                                .layout = RotaryLayout::interleaved,
                                .first = 4,
                                .scaling = R"({"rope_type": "linear", "factor": 8})"};
  DumpRotation rotation{
      ModelRotation::of_settings(settings), 1.0 / 3, RotationSource::flags, {}, {.settings = settings}};
  rotation.refined = {{RotationShape{RotaryLayout::interleaved, ComponentRange{4, 8}}, 30000 / 7.0}};
  return {std::move(rotation), {}};
}

DecidedRotation of_config() {
  const std::string config = R"({"model_type": "llama", "head_dim": 16, "rope_theta": 5e5})";
  return {DumpRotation{ModelRotation::of_model_config(config).value(),
                       0,
                       RotationSource::config,
                       {},
                       {.model_config = config},
                       std::vector<RotationCandidate>()},
          {}};
}

DecidedRotation undecided() { return {std::nullopt, inferred().shares}; }

json parsed(const DecidedRotation& decided) { return json::parse(json_text(rotation_record(decided))); }

TEST(RotationRecord, ReadsBackToTheLastBit) {
  for (const DecidedRotation& decided : {inferred(), of_settings(), of_config(), undecided(), DecidedRotation{}}) {
    const json record = parsed(decided);
    const DecidedRotation read = read_rotation_record(record, "file");
    EXPECT_EQ(parsed(read), record);
    EXPECT_TRUE(is_same_rotation(record, parsed(read)));
    ASSERT_EQ(read.rotation.has_value(), decided.rotation.has_value());
    ASSERT_EQ(read.shares.has_value(), decided.shares.has_value());
    if (read.rotation) {
      EXPECT_EQ(read.rotation->largest_position, decided.rotation->largest_position);
      EXPECT_EQ(read.rotation->refined, decided.rotation->refined);
      for (const int layer : {0, 2, 4}) {
        EXPECT_EQ(read.rotation->is_known_in(layer), decided.rotation->is_known_in(layer));
        const std::size_t width = decided.shares ? decided.shares->width : 16;
        const LayerRotation one = read.rotation->layer(layer, width);
        const LayerRotation other = decided.rotation->layer(layer, width);
        EXPECT_EQ(one.rotation.frequency, other.rotation.frequency);
        EXPECT_EQ(one.rotation.first, other.rotation.first);
        EXPECT_EQ(one.rotation.layout, other.rotation.layout);
      }
    }
    const auto source = decided.rotation ? std::optional(decided.rotation->source) : std::nullopt;
    const auto text = [&](const DecidedRotation& of) {
      return json_text(rotation_json(source, of.shares ? &*of.shares : nullptr));
    };
    EXPECT_EQ(text(read), text(decided)) << "the object in run.json";
  }
  EXPECT_FALSE(inferred().rotation->unknown_layers.empty()) << "the test needs a layer that is unknown";
}

TEST(RotationRecord, OfAnotherRotationIsNotTheSame) {
  EXPECT_FALSE(is_same_rotation(parsed(of_config()), parsed(of_settings())));
  DecidedRotation unrefined = of_settings();
  unrefined.rotation->refined->clear();
  EXPECT_FALSE(is_same_rotation(parsed(of_settings()), parsed(unrefined)));
  unrefined.rotation->refined.reset();
  EXPECT_TRUE(is_same_rotation(parsed(of_settings()), parsed(unrefined))) << "not determined yet";
  EXPECT_FALSE(is_same_rotation(parsed(of_settings()), parsed({})));
  EXPECT_TRUE(is_same_rotation(parsed({}), parsed({})));
  DecidedRotation others = inferred();
  others.shares->dump.configured += 1e-15;
  EXPECT_TRUE(is_same_rotation(parsed(inferred()), parsed(others))) << "shares are results";
}

// Each change makes a record that no run writes.
TEST(RotationRecord, OfAnyOtherFormIsRefused) {
  const json whole_inferred = parsed(inferred());
  const json whole_settings = parsed(of_settings());
  const json whole_config = parsed(of_config());
  const auto refusal = [](const json& record) -> std::string {
    try {
      read_rotation_record(record, "a file");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
      EXPECT_EQ(error.file(), "a file");
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(whole_inferred), "");
  EXPECT_EQ(refusal(whole_settings), "");
  EXPECT_EQ(refusal(whole_config), "");
  struct Change {
    const json& of;
    std::string place;
    json value;
  };
  const json huge = json::parse("1e300");
  const std::vector<Change> changes{
      {whole_inferred, "/source", "elsewhere"},
      {whole_inferred, "/source", "none"},
      {whole_inferred, "/source", 1},
      {whole_inferred, "/origin", nullptr},
      {whole_inferred, "/origin", json::array()},
      {whole_inferred, "/ways/0", json::object()},
      {whole_inferred, "/ways", 3},
      {whole_inferred, "/ways", json::array()},
      {whole_inferred, "/share", nullptr},
      {whole_inferred, "/share", json::array({1, 2})},
      {whole_inferred, "/share/3", "1"},
      {whole_inferred, "/configured", "1"},
      {whole_inferred, "/width", nullptr},
      {whole_inferred, "/width", 0},
      {whole_inferred, "/width", 20},
      {whole_inferred, "/width", -1},
      {whole_inferred, "/layers", nullptr},
      {whole_inferred, "/layers/1/layer", 0},
      {whole_inferred, "/layers/1/layer", 10000},
      {whole_inferred, "/layers/1/layer", 1.5},
      {whole_inferred, "/layers/1/share", json::array()},
      {whole_inferred, "/layers/1/configured", json::array()},
      {whole_inferred, "/origin/unknown_layers", json::array({-1})},
      {whole_inferred, "/origin/unknown_layers", nullptr},
      {whole_inferred, "/origin/layers_without", json::array({"0"})},
      {whole_inferred, "/origin/layers_without", json::array({huge})},
      {whole_settings, "/origin/settings/theta", -1},
      {whole_settings, "/origin/settings/theta", nullptr},
      {whole_settings, "/origin/settings/dim", 3},
      {whole_settings, "/origin/settings/dim", -2},
      {whole_settings, "/origin/settings/first", nullptr},
      {whole_settings, "/origin/settings/layout", "quarter"},
      {whole_settings, "/origin/settings/scaling", "{"},
      {whole_settings, "/origin/model_config", "{}"},
      {whole_settings, "/origin/largest_position", -1},
      {whole_settings, "/origin/largest_position", nullptr},
      {whole_settings, "/origin/refined", 1},
      {whole_settings, "/origin/refined/0", nullptr},
      {whole_settings, "/origin/refined/0/theta", 0},
      {whole_settings, "/origin/refined/0/theta", nullptr},
      {whole_settings, "/origin/refined/0/dim", 7},
      {whole_settings, "/origin/refined/0/dim", 0},
      {whole_settings, "/origin/refined/0/first", -4},
      {whole_settings, "/origin/refined/0/layout", nullptr},
      {whole_config, "/origin/model_config", "not JSON"},
      {whole_config, "/origin/model_config", "[]"},
      {whole_config, "/origin/model_config", "{}"},
      {whole_config, "/origin/model_config", R"({"model_type": "llama", "rope_scaling": {"type": "odd"}})"},
      {whole_config, "/origin/model_config", 7}};
  for (const auto& [of, place, value] : changes) {
    json record = of;
    ASSERT_TRUE(record.contains(json::json_pointer(place))) << place;
    record[json::json_pointer(place)] = value;
    EXPECT_TRUE(refusal(record).starts_with("not the record of a rotation: ")) << place << " " << value;
  }
  // Without any of its keys.
  for (const json* whole : {&whole_inferred, &whole_settings}) {
    const json flat = whole->flatten();
    for (const auto& [key, value] : flat.items()) {
      json record = *whole;
      const json::json_pointer place(key);
      if (record[place.parent_pointer()].is_object()) {
        record[place.parent_pointer()].erase(place.back());
        EXPECT_NE(refusal(record), "") << key;
      }
    }
  }
  for (const json& other : {json(), json(1), json::array(), json::object()}) EXPECT_NE(refusal(other), "");
}

TEST(RotationJson, LeavesOutCandidatesThatTheWidthDoesNotFit) {
  const DecidedRotation decided = inferred();
  const Json written = rotation_json(RotationSource::inferred, &*decided.shares);
  // Of 18 components, neither the halves nor the quarter can be rotated in pairs, apart from a quarter of 4.
  EXPECT_EQ(written["ways"].size(), 21U);
  EXPECT_EQ(written["share"].size(), 21U);
  EXPECT_EQ(written["ways"][0], Json({{"kind", "none"}}));
  EXPECT_EQ(written["layers"].size(), 6U);
  EXPECT_TRUE(Json::parse(json_text(written))["layers"][4]["configured"].is_null()) << "unknown there";
  EXPECT_EQ(rotation_json(std::nullopt, nullptr)["source"], "none");
}

}  // namespace
}  // namespace attention_plasticity
