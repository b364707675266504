#pragma once

#include <vector>

#include "attention_plasticity/capture/llama/attention_layer.h"
#include "attention_plasticity/capture/llama/llama_context.h"

namespace attention_plasticity {

/// Tokens of the check.
inline constexpr int probe_tokens = 64;

/// Tokens that a context must have room for so that the model's windows can be measured, where documents have at most
/// `longest` tokens. Windows that are longer than every document and too long to be measured cheaply are not.
int tokens_to_probe(const LlamaModel& model, int longest);

/// Runs the model over some tokens, and gives the attention of each layer. Before anything is captured it makes sure
/// that what the graph shows is understood: every layer compares queries with keys once, over the tokens before; the
/// cell of a key in the cache is the number of its token; and a captured vector is the one before the rotation, rotated
/// to its position. Throws Error(input), which says what was met, when one of these does not hold, or position enters
/// in another way than by a rotation.
std::vector<AttentionLayer> probed_layers(const LlamaModel& model, LlamaContext& context, int longest);

}  // namespace attention_plasticity
