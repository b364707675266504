#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/rotation.h"
#include "places.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

const json& golden() {
  static const json entries = [] {
    std::ifstream file(source_folder() / "tests/golden/rope_frequencies.json");
    return json::parse(file);
  }();
  return entries;
}

std::size_t width_of(const json& config) {
  if (config.contains("head_dim")) return config["head_dim"].get<std::size_t>();
  return config["hidden_size"].get<std::size_t>() / config["num_attention_heads"].get<std::size_t>();
}

/// The first layer of a type; 0 for null.
int layer_of_type(const json& config, const json& type) {
  if (type.is_null()) return 0;
  const json& types = config["layer_types"];
  return static_cast<int>(std::find(types.begin(), types.end(), type) - types.begin());
}

LayerRotation layer_of(const json& config, int layer, std::size_t width, double largest_position = 0) {
  const auto model = ModelRotation::of_model_config(config.dump());
  EXPECT_TRUE(model.has_value()) << config;
  return model.value_or(ModelRotation::none()).layer(layer, width, largest_position);
}

/// A ramp between two scales in single precision, rounded after each operation as in PyTorch.
float single_precision_ramp(const json& config, std::size_t pair) {
  const json& rope = config["rope_parameters"];
  const auto number = [&](const char* key) { return rope[key].get<float>(); };
  const auto dim = static_cast<float>(width_of(config));
  const float power = std::pow(number("rope_theta"), static_cast<float>(2 * pair) / dim);
  const float factor = number("factor");
  const float length = number("original_max_position_embeddings");
  constexpr auto circle = static_cast<float>(2 * std::numbers::pi);
  if (rope["rope_type"] == "llama3") {
    const float frequency = 1.0F / power;
    const float low = number("low_freq_factor");
    const float smooth = (length / (circle / frequency) - low) / (number("high_freq_factor") - low);
    return (1.0F - smooth) * frequency / factor + smooth * frequency;
  }
  const auto pair_of = [&](double rotations) {
    return dim * std::log(length / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(rope["rope_theta"].get<double>()));
  };
  const auto first = static_cast<float>(std::floor(pair_of(rope["beta_fast"].get<double>())));
  const auto last = static_cast<float>(std::ceil(pair_of(rope["beta_slow"].get<double>())));
  const float kept = 1.0F - (static_cast<float>(pair) - first) / (last - first);
  return 1.0F / (factor * power) * (1.0F - kept) + 1.0F / power * kept;
}

/// The golden figures are of single precision: a rounding or two, 2e-7. In a ramp more of them add up, and three
/// figures lie further from the exact ones, up to 2.65e-7: those are shown to be such roundings instead.
bool is_further_off(const std::string& name, std::size_t pair) {
  return (name == "yarn x8 beta" && pair == 20) || (name == "llama3 x8" && pair == 16) ||
         (name == "llama3 x32" && pair == 16);
}

void expect_golden(const json& entry, const json& config) {
  const std::string name = entry["name"];
  const double largest_position = entry["seq_len"].is_null() ? 0 : entry["seq_len"].get<double>() - 1;
  const LayerRotation layer = layer_of(config, layer_of_type(entry["config"], entry["layer_type"]),
                                       width_of(entry["config"]), largest_position);
  const auto expected = entry["inv_freq"].get<std::vector<double>>();
  ASSERT_EQ(layer.rotation.frequency.size(), expected.size()) << name;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (is_further_off(name, i)) {
      EXPECT_EQ(single_precision_ramp(entry["config"], i), static_cast<float>(expected[i])) << name << ", pair " << i;
      EXPECT_NEAR(layer.rotation.frequency[i] / expected[i], 1, 2.7e-7) << name << ", pair " << i;
    } else {
      EXPECT_NEAR(layer.rotation.frequency[i] / expected[i], 1, 2e-7) << name << ", pair " << i;
    }
  }
  EXPECT_NEAR(layer.rotation.attention_factor, entry["attention_factor"].get<double>(), 1e-15) << name;
  const bool interleaved = name.find("interleaved") != std::string::npos;
  EXPECT_EQ(layer.rotation.layout, interleaved ? RotaryLayout::interleaved : RotaryLayout::half) << name;
}

/// The config as it was written before `rope_parameters`.
json in_old_spelling(json config, const std::string& type_key) {
  json parameters = config["rope_parameters"];
  config.erase("rope_parameters");
  if (parameters.contains("sliding_attention")) {
    config["rope_local_base_freq"] = parameters["sliding_attention"]["rope_theta"];
    config["sliding_window_pattern"] = 6;
    config.erase("layer_types");
    parameters = json(parameters["full_attention"]);
  }
  const bool is_neox = config["model_type"] == "gpt_neox";
  config[is_neox ? "rotary_emb_base" : "rope_theta"] = parameters["rope_theta"];
  if (parameters.contains("partial_rotary_factor")) {
    config[is_neox ? "rotary_pct" : "partial_rotary_factor"] = parameters["partial_rotary_factor"];
  }
  parameters.erase("rope_theta");
  parameters.erase("partial_rotary_factor");
  const json type = parameters["rope_type"];
  parameters.erase("rope_type");
  parameters[type_key] = type;
  config["rope_scaling"] = type == "default" ? json() : parameters;
  return config;
}

std::string refusal(const std::string& config, int layer = 0, std::size_t width = 8,
                    ErrorKind expected = ErrorKind::usage) {
  try {
    const auto model = ModelRotation::of_model_config(config);
    if (!model) return "says nothing";
    model->layer(layer, width, 0);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), expected);
    return error.what();
  }
  return "not refused";
}

constexpr std::string_view by_hand =
    "pass `rope_theta`, `rope_dim`, `rope_layout` and `rope_scaling` yourself, or `num_triples: 0` to leave "
    "position-exact "
    "plasticity out";

TEST(ModelConfig, GivesTheFrequenciesOfTransformers) {
  ASSERT_EQ(golden().size(), 13U);
  for (const json& entry : golden()) expect_golden(entry, entry["config"]);
}

TEST(ModelConfig, ReadsTheOldSpellings) {
  for (const json& entry : golden()) {
    expect_golden(entry, in_old_spelling(entry["config"], "rope_type"));
    expect_golden(entry, in_old_spelling(entry["config"], "type"));
  }
}

TEST(ModelConfig, ReadsTheTextPartOfMultimodalModels) {
  for (const json& entry : golden()) {
    expect_golden(entry,
                  {{"model_type", "several"}, {"hidden_size", 7}, {"rope_theta", 3}, {"text_config", entry["config"]}});
  }
}

TEST(ModelConfig, FallsBackToTheTopWhenTheTextPartSaysNothing) {
  const LayerRotation layer =
      layer_of({{"text_config", {{"vocab_size", 9}}}, {"rope_theta", 77}, {"head_dim", 8}}, 0, 8);
  EXPECT_EQ(layer.theta, 77);
}

TEST(ModelConfig, KnowsModelsWithLearnedPositions) {
  for (const char* type : {"gpt2", "gpt_bigcode", "gpt_neo", "opt"}) {
    EXPECT_EQ(layer_of({{"model_type", type}, {"n_embd", 768}, {"n_head", 12}}, 3, 64).kind, RotaryKind::none) << type;
  }
}

TEST(ModelConfig, OfOtherModelsWithoutRotationSaysNothing) {
  for (const auto* const config :
       {R"({})", R"({"model_type": "novel", "n_embd": 768, "n_head": 12})",
        R"({"model_type": "bloom", "rope_scaling": null, "rope_theta": null})", R"({"model_type": "bert",
        "position_embedding_type": "absolute"})",
        R"({"rope_parameters": {}})", R"({"text_config": {}})"}) {
    EXPECT_EQ(refusal(config), "says nothing") << config;
  }
}

TEST(ModelConfig, TakesAnyWidthWhenTheConfigNamesNone) {
  for (const std::size_t width : {2U, 64U}) {
    EXPECT_EQ(layer_of({{"model_type", "novel"}, {"rope_theta", 100}}, 3, width).rotation.dim(), width);
  }
}

TEST(ModelConfig, RotatesTheWholePartOfAShare) {
  json config = {{"rope_theta", 100}, {"head_dim", 80}, {"partial_rotary_factor", 0.43}};
  EXPECT_EQ(layer_of(config, 0, 80).rotation.dim(), 34U);
  config["rope_parameters"] = {{"rope_theta", 100}, {"partial_rotary_factor", 0.5}};
  EXPECT_EQ(layer_of(config, 0, 80).rotation.dim(), 40U) << "the one among the parameters is nearer";
  config["rotary_dim"] = 20;
  EXPECT_EQ(layer_of(config, 0, 80).rotation.dim(), 20U);
}

TEST(ModelConfig, TakesTheOriginalLengthAtTheTopFirst) {
  const json config = {{"head_dim", 4},
                       {"max_position_embeddings", 1000},
                       {"original_max_position_embeddings", 10},
                       {"rope_parameters",
                        {{"rope_type", "longrope"},
                         {"rope_theta", 100},
                         {"short_factor", {1, 1}},
                         {"long_factor", {2, 2}},
                         {"original_max_position_embeddings", 500}}}};
  EXPECT_EQ(layer_of(config, 0, 4, 9).rotation.frequency.front(), 1);
  EXPECT_EQ(layer_of(config, 0, 4, 10).rotation.frequency.front(), 0.5);
  const auto model = ModelRotation::of_model_config(config.dump());
  EXPECT_TRUE(model && model->depends_on_length());
}

TEST(ModelConfig, ReadsScalingBesideParameters) {
  const json config = {{"head_dim", 4},
                       {"rope_parameters", {{"rope_theta", 100}, {"rope_type", "default"}}},
                       {"rope_scaling", {{"type", "linear"}, {"factor", 2}}}};
  EXPECT_EQ(layer_of(config, 0, 4).rotation.frequency.front(), 0.5);
  EXPECT_EQ(layer_of(config, 0, 4).theta, 100);
}

TEST(ModelConfig, IgnoresKeysOfADefaultRotation) {
  const json config = {{"head_dim", 4},
                       {"rope_parameters",
                        {{"rope_theta", 100},
                         {"rope_type", "default"},
                         {"mrope_section", {1, 1, 2}},
                         {"more", {{"rope_theta", 3}}},
                         {"factor", -1}}}};
  EXPECT_EQ(layer_of(config, 0, 4).theta, 100);
}

json per_type() {
  return {
      {"head_dim", 4},
      {"layer_types", {"full_attention", "sliding_attention", "linear_attention"}},
      {"rope_parameters",
       {{"full_attention", {{"rope_theta", 100}}}, {"sliding_attention", {{"rope_type", "linear"}, {"factor", 2}}}}},
      {"rope_theta", 50}};
}

TEST(ModelConfig, GivesEachTypeOfLayerItsOwn) {
  EXPECT_EQ(layer_of(per_type(), 0, 4).theta, 100);
  EXPECT_EQ(layer_of(per_type(), 1, 4).theta, 50) << "what a type does not say, the top does";
  EXPECT_EQ(layer_of(per_type(), 1, 4).kind, RotaryKind::linear);
  json config = per_type();
  config["rope_parameters"]["full_attention"] = nullptr;
  config["rope_parameters"]["rope_theta"] = 3;
  EXPECT_EQ(layer_of(config, 0, 4).kind, RotaryKind::none) << "null: such layers do not rotate";
  EXPECT_EQ(layer_of(config, 1, 4).theta, 50) << "a number beside the types is ignored";
  config = per_type();
  config["rope_scaling"] = {{"type", "linear"}, {"factor", 4}};
  EXPECT_EQ(layer_of(config, 0, 4).rotation.frequency.front(), 0.25);
  EXPECT_EQ(layer_of(config, 1, 4).rotation.frequency.front(), 0.5) << "rope_scaling is of the full layers";
}

TEST(ModelConfig, RefusesLayersThatItDoesNotDescribe) {
  EXPECT_EQ(refusal(per_type().dump(), 2, 4),
            "layer 2: rope_parameters has no entry for layers of type \"linear_attention\"");
  EXPECT_EQ(refusal(per_type().dump(), 3, 4), "the model's config does not list layer 3");
  EXPECT_EQ(refusal(per_type().dump(), -1, 4), "the model's config does not list layer -1");
  json config = per_type();
  config.erase("layer_types");
  EXPECT_EQ(refusal(config.dump()),
            "layer_types is missing, and layers of different attention rotate differently; " + std::string(by_hand));
  EXPECT_EQ(refusal(R"({"rope_theta": 9, "no_rope_layers": [1, 0]})", 2), "the model's config does not list layer 2");
}

TEST(ModelConfig, RefusesVectorsOfAnotherWidth) {
  EXPECT_EQ(refusal(R"({"rope_theta": 9, "head_dim": 128})", 0, 64),
            "the vectors have 64 components, the model's config says head_dim 128");
  EXPECT_EQ(refusal(R"({"rope_theta": 9, "hidden_size": 65, "num_attention_heads": 2})", 0, 64),
            "the vectors have 64 components, the model's config says head_dim 32");
}

TEST(ModelConfig, RefusesKindsItDoesNotKnow) {
  for (const auto* const key : {"type", "rope_type"}) {
    const json config = {{"rope_theta", 9}, {"rope_scaling", {{key, "mrope"}, {"mrope_section", {1, 2}}}}};
    EXPECT_EQ(refusal(config.dump()),
              "rope_type is \"mrope\", which is none of default, linear, dynamic, yarn, llama3, longrope, listed; " +
                  std::string(by_hand));
  }
  EXPECT_EQ(refusal(R"({"rope_theta": 9, "rope_scaling": {"type": "dynamic", "alpha": 1000, "factor": 1},
                        "max_position_embeddings": 100})"),
            "rope_type dynamic with alpha is not known; " + std::string(by_hand));
  EXPECT_NE(refusal(R"({"model_type": "llama", "rope_scaling": {"type": "su"}})").find("rope_type is \"su\""),
            std::string::npos)
      << "only Phi-3 spells longrope so";
}

constexpr const char* deepseek = R"({"model_type": "deepseek_v3", "rope_theta": 10000, "head_dim": 64,
    "hidden_size": 7168, "num_attention_heads": 128, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
    "kv_lora_rank": 512, "max_position_embeddings": 163840, "rope_scaling": {"type": "yarn", "factor": 40,
    "mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1, "original_max_position_embeddings": 4096}})";

TEST(ModelConfig, LatentAttentionRotatesTheLastComponents) {
  const std::optional<ModelRotation> model = ModelRotation::of_model_config(deepseek);
  ASSERT_TRUE(model);
  const LayerRotation layer = model->layer(3, 192, 0);
  EXPECT_EQ(layer.kind, RotaryKind::yarn);
  EXPECT_EQ(layer.rotation.first, 128U);
  EXPECT_EQ(layer.rotation.dim(), 64U);
  EXPECT_EQ(layer.rotation.layout, RotaryLayout::half);
  EXPECT_EQ(layer.rotation.attention_factor, 1);
  EXPECT_THROW(model->layer(3, 64, 0), Error) << "head_dim is not the width of a vector";
}

TEST(ModelConfig, AbsorbedLatentAttentionRotatesTheFirstComponents) {
  const Rotation rotation = ModelRotation::of_model_config(deepseek).value().layer(3, 512 + 64, 0).rotation;
  EXPECT_EQ(rotation.first, 0U);
  EXPECT_EQ(rotation.dim(), 64U);
}

TEST(ModelConfig, LatentAttentionOfVersion2IsInterleaved) {
  const auto model = ModelRotation::of_model_config(
      R"({"model_type": "deepseek_v2", "qk_rope_head_dim": 4, "qk_nope_head_dim": 6, "rope_theta": 10000})");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->layer(0, 10, 0).rotation.layout, RotaryLayout::interleaved);
  EXPECT_EQ(model->layer(0, 10, 0).rotation.first, 6U);
}

TEST(ModelConfig, SyntheticDumpsNameLayoutAndFirstComponent) {
  const auto model = ModelRotation::of_model_config(
      R"({"rope_theta": 9, "head_dim": 12, "rope_layout": "interleaved", "rope_first": 2, "rotary_dim": 4})");
  ASSERT_TRUE(model);
  const Rotation rotation = model->layer(0, 12, 0).rotation;
  EXPECT_EQ(rotation.layout, RotaryLayout::interleaved);
  EXPECT_EQ(rotation.first, 2U);
  EXPECT_EQ(rotation.dim(), 4U);
  EXPECT_EQ(refusal(R"({"rope_theta": 9, "rope_layout": "odd"})"),
            "rope_layout is \"odd\"; half or interleaved is expected");
}

TEST(ModelConfig, RefusesAThetaThatIsNotKnown) {
  EXPECT_EQ(refusal(R"({"model_type": "novel", "rope_scaling": {"type": "linear", "factor": 2}})"),
            "rope_theta is missing, and the default of model type \"novel\" is not known; " + std::string(by_hand));
  EXPECT_NE(refusal(R"({"model_type": "cohere"})").find("rope_theta is missing"), std::string::npos)
      << "its default differs between versions of transformers";
}

TEST(ModelConfig, RefusesValuesOfAnotherType) {
  const auto with = [](const std::string& fields) { return refusal(R"({"model_type": "llama", )" + fields + "}"); };
  EXPECT_EQ(with(R"("rope_theta": "10000")"), "rope_theta is \"10000\"; a number is expected");
  EXPECT_EQ(with(R"("rope_theta": true)"), "rope_theta is true; a number is expected");
  EXPECT_EQ(with(R"("rope_theta": 0)"), "rope_theta is 0; a number above 0 is expected");
  EXPECT_EQ(with(R"("rope_parameters": {"rope_theta": 0})"), "rope_theta is 0; a number above 0 is expected");
  EXPECT_EQ(with(R"("rope_local_base_freq": -2)"), "rope_local_base_freq is -2; a number above 0 is expected");
  EXPECT_EQ(with(R"("rope_scaling": "linear")"), "rope_scaling is \"linear\"; an object is expected");
  EXPECT_EQ(with(R"("rope_parameters": [1])"), "rope_parameters is a list of 1; an object is expected");
  EXPECT_EQ(with(R"("rope_scaling": {"rope_type": ["yarn"]})"),
            "rope_scaling.rope_type is a list of 1; text is expected");
  EXPECT_EQ(with(R"("rope_scaling": {"type": "linear", "factor": {}})"),
            "rope_scaling.factor is an object; a number is expected");
  EXPECT_EQ(with(R"("text_config": 4)"), "text_config is 4; an object is expected");
  EXPECT_EQ(with(R"("head_dim": 4.5)"), "head_dim is 4.5; a whole number above 0 is expected");
  EXPECT_EQ(with(R"("head_dim": -4)"), "head_dim is -4; a whole number above 0 is expected");
  EXPECT_EQ(with(R"("head_dim": 1e300)"), "head_dim is 1e+300; a whole number above 0 is expected");
  EXPECT_EQ(with(R"("hidden_size": 4, "num_attention_heads": 8)"),
            "hidden_size is 4; at least num_attention_heads (8) is expected");
  EXPECT_EQ(with(R"("partial_rotary_factor": 1.5)"),
            "partial_rotary_factor is 1.5; a number above 0 and not above 1 is expected");
  EXPECT_EQ(with(R"("partial_rotary_factor": 0)"),
            "partial_rotary_factor is 0; a number above 0 and not above 1 is expected");
  EXPECT_EQ(with(R"("partial_rotary_factor": 0.4)"),
            "3 components cannot be rotated in pairs; an even number is expected");
  EXPECT_EQ(with(R"("rotary_dim": 16)"), "the rotation has 16 components, the vectors have 8");
  EXPECT_EQ(with(R"("no_rope_layers": [1, 2])"), "no_rope_layers is a list of 2; a list of 0 and 1 is expected");
  EXPECT_EQ(with(R"("no_rope_layers": "all")"), "no_rope_layers is \"all\"; a list of 0 and 1 is expected");
  EXPECT_EQ(with(R"("no_rope_layer_interval": 0)"), "no_rope_layer_interval is 0; a whole number above 0 is expected");
  EXPECT_EQ(with(R"("rope_local_base_freq": 5, "layer_types": [1])"),
            "layer_types is a list of 1; a list of names only is expected");
  EXPECT_EQ(with(R"("rope_local_base_freq": 5, "sliding_window_pattern": "LLLG")"),
            "sliding_window_pattern is \"LLLG\"; a number is expected");
  EXPECT_EQ(refusal(R"({"model_type": 3})"), "model_type is 3; text is expected");
}

TEST(ModelConfig, RefusesTextThatIsNoJsonObject) {
  const auto input = [](const std::string& text) { return refusal(text, 0, 8, ErrorKind::input); };
  EXPECT_EQ(input(""), "the model's config is not valid JSON (at byte 1)");
  EXPECT_EQ(input("{\"rope_theta\": NaN}"), "the model's config is not valid JSON (at byte 16)");
  EXPECT_EQ(input("[]"), "the model's config is a list of 0; a JSON object is expected");
  EXPECT_EQ(input("{\"a\": 1e999}"), "the model's config holds a number that is too large");
  EXPECT_EQ(input("{\"a\": \"\xff\"}"), "the model's config is not valid JSON (at byte 8)");
}

TEST(ModelConfig, SurvivesDeepNesting) {
  constexpr std::size_t depth = 200000;
  const std::string deep = std::string(depth, '[') + std::string(depth, ']');
  const std::string too_deep = "the model's config is nested more than 64 levels deep";
  EXPECT_EQ(refusal(deep, 0, 8, ErrorKind::input), too_deep);
  EXPECT_EQ(refusal("{\"other\": " + deep + "}", 0, 8, ErrorKind::input), too_deep);
}

TEST(ModelConfig, ShowsLongValuesShort) {
  const std::string message = refusal("{\"rope_theta\": \"" + std::string(5000, 'x') + "\"}");
  EXPECT_LT(message.size(), 120U);
  EXPECT_EQ(refusal("{\"rope_theta\": \"\\n\xc3\xa9\"}"), "rope_theta is \"\\n\\u00e9\"; a number is expected");
}

json any_value() {
  switch (*rc::gen::inRange(0, 11)) {
    case 0:
      return nullptr;
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
      return *rc::gen::inRange(-3, 40);
    case 3:
      return *rc::gen::element(0.0, -0.0, 0.5, 1.0, 1e-320, 1e-300, 1e300, -1e300, 1.7976931348623157e308);
    case 4:
      return *rc::gen::element(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    case 5:
      return std::numeric_limits<std::uint64_t>::max();
    case 6:
      return *rc::gen::element<std::string>("", "default", "yarn", "longrope", "dynamic", "llama3", "10000", "phi3",
                                            "gemma3_text", "cohere2", "smollm3", "gpt_oss", "full_attention");
    case 7:
      return json::array();
    case 8:
      return json::object();
    case 9:
      return json::array({any_value(), any_value()});
    default:
      return {{"rope_theta", any_value()}, {"rope_type", any_value()}};
  }
}

/// All JSON pointers into a config.
void collect(const json& value, const json::json_pointer& at, std::vector<json::json_pointer>& places) {
  places.push_back(at);
  if (value.is_object()) {
    for (const auto& item : value.items()) collect(item.value(), at / item.key(), places);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < std::min<std::size_t>(value.size(), 2); ++i) collect(value[i], at / i, places);
  }
}

RC_GTEST_PROP(ModelConfig, WithAnyValueAnywhereGivesARotationOrAnError, ()) {
  json config = (*rc::gen::elementOf(golden().get<std::vector<json>>()))["config"];
  if (*rc::gen::arbitrary<bool>()) config = in_old_spelling(config, "type");
  const std::size_t width = width_of(config);
  if (*rc::gen::arbitrary<bool>()) config = {{"text_config", config}};
  const int changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) {
    std::vector<json::json_pointer> places;
    collect(config, json::json_pointer(), places);
    config[*rc::gen::elementOf(places)] = any_value();
  }
  try {
    const auto model = ModelRotation::of_model_config(config.dump());
    if (!model) return;
    const LayerRotation layer = model->layer(*rc::gen::inRange(0, 40), width, *rc::gen::element(0.0, 5000.0, 1e18));
    RC_ASSERT(layer.rotation.dim() <= width);
    RC_ASSERT((layer.kind == RotaryKind::none) == (layer.rotation.dim() == 0));
    for (const double frequency : layer.rotation.frequency) RC_ASSERT(std::isfinite(frequency));
    RC_ASSERT(std::isfinite(layer.rotation.attention_factor));
  } catch (const Error&) {
    RC_TAG("refused");
  }
}

std::string refusal_of_list(const std::string& text) {
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
  EXPECT_EQ(refusal_of_list(R"({"rope_layers": 3})"),
            "rope_layers is 3; a list with an entry for each layer is expected");
  EXPECT_EQ(refusal_of_list(R"({"rope_layers": [0]})"),
            "rope_layers is a list of 1; a list of nulls and numbers of rope_rotations is expected");
  EXPECT_EQ(refusal_of_list(R"({"rope_layers": [null], "rope_rotations": [1]})"),
            "rope_rotations is a list of 1; a list of objects only is expected");
  EXPECT_EQ(refusal_of_list(R"({"rope_layers": [0], "rope_rotations": [{"rope_type": "listed"}]})"),
            "inv_freq is missing; rope_type listed needs a list of numbers not below 0");
  EXPECT_EQ(refusal_of_list(R"({"rope_layers": [0], "rope_rotations": [{"rope_type": "listed", "inv_freq": [-1]}]})"),
            "inv_freq is -1; a number not below 0 is expected");
}

}  // namespace
}  // namespace attention_plasticity
