#include "attention_plasticity/capture/llama/llama_config.h"

#include <gtest/gtest.h>

#include "attention_plasticity/json/json.h"
#include "attention_plasticity/rotation.h"

namespace attention_plasticity {
namespace {

std::vector<AttentionLayer> four_layers() {
  AttentionLayer plain{.q_heads = 4, .k_heads = 2, .width = 8, .scale = 0.25};
  plain.rope = RopeParameters{.dims = 8, .adjacent_pairs = true, .base = 10000};
  AttentionLayer partial = plain;
  partial.window = 16;
  partial.softcap = 50;
  partial.sinks = {1, 2, 3, 4};
  partial.rope = RopeParameters{.dims = 4, .first = 4, .base = 1e6, .magnitude = 1.25, .factors = {1, 2}};
  AttentionLayer unrotated = plain;
  unrotated.rope.reset();
  return {plain, partial, AttentionLayer{}, unrotated, plain};
}

TEST(LlamaConfig, IsReadBackByTheRotationsReader) {
  const std::string text = config_text(four_layers(), {"smollm", "0.2.0", 2048, true});
  const auto model = ModelRotation::of_model_config(text);
  ASSERT_TRUE(model);
  for (const int layer : {0, 4}) {
    EXPECT_EQ(model->layer(layer, 8).kind, RotaryKind::standard);
    EXPECT_EQ(model->layer(layer, 8).rotation.layout, RotaryLayout::half);  // vectors are written so
    EXPECT_EQ(model->layer(layer, 8).rotation.frequency, rotation_of(*four_layers()[0].rope).rotation.frequency);
  }
  const LayerRotation partial = model->layer(1, 8);
  EXPECT_EQ(partial.kind, RotaryKind::listed);
  EXPECT_EQ(partial.theta, 1e6);
  EXPECT_EQ(partial.rotation.first, 4U);
  EXPECT_EQ(partial.rotation.frequency, rotation_of(*four_layers()[1].rope).rotation.frequency);
  EXPECT_EQ(partial.rotation.attention_factor, 1.25);
  EXPECT_EQ(model->layer(3, 8).kind, RotaryKind::none);
  EXPECT_FALSE(model->depends_on_length());
}

TEST(LlamaConfig, SaysShapeAndAttentionOfEachLayer) {
  const Json json = Json::parse(config_text(four_layers(), {"smollm", "0.2.0", 2048, true}));
  EXPECT_EQ(json["num_hidden_layers"], 5);
  EXPECT_EQ(json["num_attention_heads"], 4);
  EXPECT_EQ(json["num_key_value_heads"], 2);
  EXPECT_EQ(json["head_dim"], 8);
  EXPECT_EQ(json["max_position_embeddings"], 2048);
  EXPECT_EQ(json["rope_layers"], Json::parse("[0, 1, null, null, 0]"));
  EXPECT_EQ(json["attention_layers"][1],
            Json::parse(R"({"q_heads": 4, "k_heads": 2, "width": 8, "window": 16, "scale": 0.25, "softcap": 50.0,
                            "sinks": [1.0, 2.0, 3.0, 4.0]})"));
  EXPECT_EQ(json["attention_layers"][2], nullptr);
}

TEST(LlamaConfig, HasNoHeadWidthWhereLayersDiffer) {
  std::vector<AttentionLayer> layers = four_layers();
  layers[0].width = 16;
  EXPECT_FALSE(Json::parse(config_text(layers, {})).contains("head_dim"));
}

}  // namespace
}  // namespace attention_plasticity
