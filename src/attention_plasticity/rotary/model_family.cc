#include "attention_plasticity/rotary/model_family.h"

#include <algorithm>
#include <array>

namespace attention_plasticity {
namespace {

constexpr auto interleaved = RotaryLayout::interleaved;

// Defaults of transformers 5. Interleaved families pair x[2i] with x[2i + 1]. Theta is 0 where the default differs
// between versions (cohere: 10000 in version 4, 500000 in 5), so the config must have it.
constexpr auto families = std::to_array<ModelFamily>({
    {.model_type = "codegen", .layout = interleaved, .rotary_dim = 64},
    {.model_type = "cohere", .theta = 0, .layout = interleaved},
    {.model_type = "cohere2", .layout = interleaved, .sliding_pattern = 4, .rotated = RotatedLayers::sliding},
    {.model_type = "deepseek_v2", .layout = interleaved},
    {.model_type = "deepseek_v3"},
    {.model_type = "ernie4_5", .theta = 0, .layout = interleaved},
    {.model_type = "ernie4_5_moe", .theta = 0, .layout = interleaved},
    {.model_type = "exaone4", .sliding_pattern = 4, .rotated = RotatedLayers::sliding_when_windowed},
    {.model_type = "falcon"},
    {.model_type = "gemma", .head_dim = 256},
    {.model_type = "gemma2", .head_dim = 256},
    {.model_type = "gemma3_text",
     .theta = 1e6,
     .head_dim = 256,
     .sliding_theta = 10000,
     .sliding_pattern = 6,
     .scales_full_layers_only = true},
    {.model_type = "glm", .layout = interleaved, .partial = 0.5, .head_dim = 128},
    {.model_type = "glm4", .layout = interleaved, .partial = 0.5, .head_dim = 128},
    {.model_type = "gpt2", .rotated = RotatedLayers::none},
    {.model_type = "gpt_bigcode", .rotated = RotatedLayers::none},
    {.model_type = "gpt_neo", .rotated = RotatedLayers::none},
    {.model_type = "gpt_neox", .partial = 0.25},
    {.model_type = "gpt_oss",
     .theta = 150000,
     .head_dim = 64,
     .scaling = R"({"rope_type": "yarn", "factor": 32, "truncate": false, "original_max_position_embeddings": 4096})"},
    {.model_type = "gptj", .layout = interleaved, .rotary_dim = 64},
    {.model_type = "granite"},
    {.model_type = "helium", .theta = 0, .layout = interleaved},
    {.model_type = "llama"},
    {.model_type = "llama4_text", .theta = 500000, .layout = interleaved, .head_dim = 128, .no_rope_interval = 4},
    {.model_type = "mistral"},
    {.model_type = "mixtral", .theta = 1e6},
    {.model_type = "nemotron", .partial = 0.5},
    {.model_type = "olmo"},
    {.model_type = "olmo2"},
    {.model_type = "olmo3", .theta = 0, .sliding_pattern = 4, .scales_full_layers_only = true},
    {.model_type = "opt", .rotated = RotatedLayers::none},
    {.model_type = "persimmon", .theta = 0, .partial = 0.5},
    {.model_type = "phi", .partial = 0.5},
    {.model_type = "phi3"},
    {.model_type = "qwen2"},
    {.model_type = "qwen2_moe"},
    {.model_type = "qwen3", .head_dim = 128},
    {.model_type = "qwen3_moe"},
    {.model_type = "smollm3", .theta = 2e6, .no_rope_interval = 4},
    {.model_type = "stablelm", .partial = 0.25},
    {.model_type = "starcoder2"},
});

static_assert(std::ranges::is_sorted(families, {}, &ModelFamily::model_type));

}  // namespace

const ModelFamily* model_family_of(std::string_view model_type) {
  const auto* const found = std::ranges::lower_bound(families, model_type, {}, &ModelFamily::model_type);
  return found != families.end() && found->model_type == model_type ? found : nullptr;
}

}  // namespace attention_plasticity
