#include "attention_plasticity/rotary/model_family.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attention_plasticity/rotation.h"

namespace attention_plasticity {
namespace {

ModelRotation model_of(const std::string& config) {
  std::optional<ModelRotation> model = ModelRotation::of_model_config(config);
  EXPECT_TRUE(model.has_value()) << config;
  return model.value_or(ModelRotation::none());
}

/// Which of the first layers rotate their vectors, as "1101".
std::string rotated_layers(const ModelRotation& model, std::size_t width, int layers) {
  std::string text;
  for (int layer = 0; layer < layers; ++layer) text += model.layer(layer, width, 0).rotation.dim() == 0 ? '0' : '1';
  return text;
}

TEST(ModelFamily, IsFoundByItsExactName) {
  ASSERT_NE(model_family_of("llama"), nullptr);
  EXPECT_EQ(model_family_of("llama")->model_type, "llama");
  for (const auto* const unknown : {"", "bert", "bloom", "Llama", "llama5", "zzz"}) {
    EXPECT_EQ(model_family_of(unknown), nullptr) << unknown;
  }
}

TEST(ModelFamily, KnowsWhichModelsInterleave) {
  for (const auto* const type :
       {"codegen", "cohere", "cohere2", "deepseek_v2", "ernie4_5", "glm", "glm4", "gptj", "helium", "llama4_text"}) {
    EXPECT_EQ(model_family_of(type)->layout, RotaryLayout::interleaved) << type;
  }
  for (const auto* const type : {"deepseek_v3", "falcon", "gemma3_text", "gpt_neox", "gpt_oss", "llama", "mistral",
                                 "phi", "phi3", "qwen2", "qwen3", "smollm3", "stablelm"}) {
    EXPECT_EQ(model_family_of(type)->layout, RotaryLayout::half) << type;
  }
}

struct Defaults {
  std::string config;
  std::size_t width;
  double theta;
  std::size_t dim;
};

TEST(ModelFamily, FillsInWhatConfigsLeaveOut) {
  const std::vector<Defaults> all{
      {R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4})", 16, 10000, 16},
      {R"({"model_type": "mistral", "hidden_size": 64, "num_attention_heads": 4})", 16, 10000, 16},
      {R"({"model_type": "mixtral", "hidden_size": 64, "num_attention_heads": 4})", 16, 1e6, 16},
      {R"({"model_type": "gemma", "hidden_size": 64, "num_attention_heads": 4})", 256, 10000, 256},
      {R"({"model_type": "gemma2", "hidden_size": 64, "num_attention_heads": 4})", 256, 10000, 256},
      {R"({"model_type": "qwen3", "hidden_size": 64, "num_attention_heads": 4})", 128, 10000, 128},
      {R"({"model_type": "phi", "hidden_size": 320, "num_attention_heads": 4})", 80, 10000, 40},
      {R"({"model_type": "phi", "hidden_size": 320, "num_attention_heads": 4, "partial_rotary_factor": 0.4})", 80,
       10000, 32},
      {R"({"model_type": "gpt_neox", "hidden_size": 64, "num_attention_heads": 4})", 16, 10000, 4},
      {R"({"model_type": "gpt_neox", "hidden_size": 64, "num_attention_heads": 4, "rotary_pct": 0.5,
           "rotary_emb_base": 20000})",
       16, 20000, 8},
      {R"({"model_type": "gptj", "n_embd": 512, "n_head": 2})", 256, 10000, 64},
      {R"({"model_type": "codegen", "n_embd": 512, "n_head": 2, "rotary_dim": 32})", 256, 10000, 32},
      {R"({"model_type": "falcon", "hidden_size": 64, "n_head": 4, "alibi": false})", 16, 10000, 16},
      {R"({"model_type": "stablelm", "hidden_size": 64, "num_attention_heads": 4})", 16, 10000, 4},
      {R"({"model_type": "nemotron", "hidden_size": 64, "num_attention_heads": 4})", 16, 10000, 8},
      {R"({"model_type": "persimmon", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 25000})", 16, 25000,
       8},
      {R"({"model_type": "glm"})", 128, 10000, 64},
      {R"({"model_type": "glm4"})", 128, 10000, 64},
      {R"({"model_type": "smollm3", "hidden_size": 64, "num_attention_heads": 4})", 16, 2e6, 16},
      {R"({"model_type": "llama4_text"})", 128, 500000, 128},
      {R"({"model_type": "cohere2", "hidden_size": 64, "num_attention_heads": 4})", 16, 10000, 16},
  };
  for (const Defaults& defaults : all) {
    const LayerRotation layer = model_of(defaults.config).layer(0, defaults.width, 0);
    EXPECT_EQ(layer.kind, RotaryKind::standard) << defaults.config;
    EXPECT_EQ(layer.theta, defaults.theta) << defaults.config;
    EXPECT_EQ(layer.rotation.dim(), defaults.dim) << defaults.config;
  }
}

// google/gemma-3-4b-it leaves theta, head_dim and the pattern of its layers to the class.
TEST(ModelFamily, ReadsTheShortConfigOfGemma3) {
  const ModelRotation model = model_of(R"({"model_type": "gemma3", "text_config": {"hidden_size": 2560,
      "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
      "sliding_window": 1024}, "vision_config": {"hidden_size": 1152, "num_attention_heads": 16}})");
  for (int i = 0; i < 34; ++i) {
    const LayerRotation layer = model.layer(i, 256, 0);
    const bool full = (i + 1) % 6 == 0;
    EXPECT_EQ(layer.kind, full ? RotaryKind::linear : RotaryKind::standard) << i;
    EXPECT_EQ(layer.theta, full ? 1e6 : 10000) << i;
    EXPECT_EQ(layer.rotation.frequency.front(), full ? 0.125 : 1) << i;
  }
}

TEST(ModelFamily, Gemma3SaysItsLocalThetaAndItsPattern) {
  const ModelRotation model = model_of(R"({"model_type": "gemma3_text", "head_dim": 8, "rope_theta": 5000,
      "rope_local_base_freq": 200, "sliding_window_pattern": 3})");
  for (int i = 0; i < 9; ++i) EXPECT_EQ(model.layer(i, 8, 0).theta, i % 3 == 2 ? 5000 : 200) << i;
}

TEST(ModelFamily, Gemma3FillsInTheThetaOfEachTypeOfLayer) {
  const ModelRotation model = model_of(R"({"model_type": "gemma3_text", "head_dim": 8, "rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8}, "sliding_attention": {"rope_type": "default"}}})");
  for (int i = 0; i < 12; ++i) EXPECT_EQ(model.layer(i, 8, 0).theta, i % 6 == 5 ? 1e6 : 10000) << i;
}

TEST(ModelFamily, Olmo3ScalesItsFullLayersOnly) {
  const ModelRotation model = model_of(R"({"model_type": "olmo3", "head_dim": 8, "rope_theta": 500000,
      "max_position_embeddings": 65536, "rope_scaling": {"rope_type": "yarn", "factor": 8, "attention_factor": 1.2,
      "original_max_position_embeddings": 8192}})");
  for (int i = 0; i < 8; ++i) {
    const LayerRotation layer = model.layer(i, 8, 0);
    EXPECT_EQ(layer.kind, i % 4 == 3 ? RotaryKind::yarn : RotaryKind::standard) << i;
    EXPECT_EQ(layer.rotation.attention_factor, i % 4 == 3 ? 1.2 : 1) << i;
    EXPECT_EQ(layer.theta, 500000) << i;
  }
}

TEST(ModelFamily, GptOssIsYarnWithoutSayingSo) {
  const LayerRotation silent = model_of(R"({"model_type": "gpt_oss"})").layer(0, 64, 0);
  const LayerRotation said = model_of(R"({"model_type": "gpt_oss", "rope_theta": 150000, "rope_scaling": {
      "rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false,
      "original_max_position_embeddings": 4096}})")
                                 .layer(0, 64, 0);
  EXPECT_EQ(silent.kind, RotaryKind::yarn);
  EXPECT_EQ(silent.theta, 150000);
  EXPECT_EQ(silent.rotation.frequency, said.rotation.frequency);
  EXPECT_DOUBLE_EQ(silent.rotation.attention_factor, 0.1 * std::log(32.0) + 1);
}

TEST(ModelFamily, Phi3SpellsLongropeInOldWays) {
  for (const std::string type : {"su", "yarn", "longrope"}) {
    const LayerRotation layer = model_of(R"({"model_type": "phi3", "hidden_size": 8, "num_attention_heads": 2,
        "max_position_embeddings": 100, "original_max_position_embeddings": 10, "rope_scaling": {"type": ")" +
                                         type + R"(", "short_factor": [1, 1], "long_factor": [4, 4]}})")
                                    .layer(0, 4, 10);
    EXPECT_EQ(layer.kind, RotaryKind::longrope) << type;
    EXPECT_EQ(layer.rotation.frequency.front(), 0.25) << type;
    EXPECT_DOUBLE_EQ(layer.rotation.attention_factor, std::sqrt(2.0)) << type;
  }
}

TEST(ModelFamily, Cohere2TurnsInSlidingLayersOnly) {
  EXPECT_EQ(rotated_layers(model_of(R"({"model_type": "cohere2", "head_dim": 8, "rope_theta": 50000})"), 8, 9),
            "111011101");
  EXPECT_EQ(rotated_layers(model_of(R"({"model_type": "cohere2", "head_dim": 8, "sliding_window_pattern": 2})"), 8, 4),
            "1010");
  EXPECT_EQ(rotated_layers(model_of(R"({"model_type": "cohere2", "head_dim": 8,
                                 "layer_types": ["full_attention", "sliding_attention"]})"),
                           8, 2),
            "01");
}

TEST(ModelFamily, Exaone4TurnsInSlidingLayersUnlessItHasNone) {
  EXPECT_EQ(rotated_layers(model_of(R"({"model_type": "exaone4", "head_dim": 8})"), 8, 8), "11101110");
  EXPECT_EQ(rotated_layers(model_of(R"({"model_type": "exaone4", "head_dim": 8, "sliding_window": 4096,
                                 "sliding_window_pattern": "LLLG",
                                 "layer_types": ["sliding_attention", "full_attention"]})"),
                           8, 2),
            "10");
  EXPECT_EQ(rotated_layers(model_of(R"({"model_type": "exaone4", "head_dim": 8, "sliding_window": null,
                                 "layer_types": ["full_attention", "full_attention"]})"),
                           8, 2),
            "11");
}

TEST(ModelFamily, SmolLM3AndLlama4LeaveEveryFourthLayerOut) {
  for (const std::string type : {"smollm3", "llama4_text"}) {
    const auto config = [&](const std::string& more) {
      return fmt::format(R"({{"head_dim": 8, "model_type": "{}"{}}})", type, more);
    };
    EXPECT_EQ(rotated_layers(model_of(config("")), 8, 9), "111011101") << type;
    EXPECT_EQ(rotated_layers(model_of(config(R"(, "no_rope_layers": null, "no_rope_layer_interval": 2)")), 8, 4),
              "1010")
        << type;
    EXPECT_EQ(rotated_layers(model_of(config(R"(, "no_rope_layers": [])")), 8, 4), "1110") << type;
    EXPECT_EQ(rotated_layers(
                  model_of(config(R"(, "no_rope_layers": [0, 1, true, false], "no_rope_layer_interval": 2)")), 8, 4),
              "0110")
        << type << ": 1 says that the layer rotates";
  }
}

TEST(ModelFamily, GraniteWithoutRotationSaysNope) {
  EXPECT_EQ(rotated_layers(model_of(R"({"model_type": "granitemoehybrid", "position_embedding_type": "nope",
                                 "rope_theta": 10000})"),
                           8, 3),
            "000");
  EXPECT_EQ(rotated_layers(model_of(R"({"model_type": "granitemoehybrid", "position_embedding_type": "rope",
                                 "rope_theta": 10000})"),
                           8, 3),
            "111");
}

TEST(ModelFamily, FalconWithAlibiDoesNotTurn) {
  EXPECT_FALSE(ModelRotation::of_model_config(R"({"model_type": "falcon", "alibi": true})").has_value());
}

}  // namespace
}  // namespace attention_plasticity
