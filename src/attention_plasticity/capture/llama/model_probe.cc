#include "attention_plasticity/capture/llama/model_probe.h"

#include <fmt/format.h>
#include <llama.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "attention_plasticity/capture/llama/graph_probe.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// Rounding to 16 bits and sums of 32 bits stay below.
constexpr double largest_error = 1e-6;
// A longer window is measured only where documents are longer still, since measuring takes a cache of its size.
constexpr int usual_window = 8190;

[[noreturn]] void refuse(const LlamaModel& model, const std::string& message) {
  throw Error(ErrorKind::input, message, model.file().string());
}

std::vector<std::int32_t> some_tokens(const LlamaModel& model, std::size_t count) {
  const std::vector<std::int64_t> ordinary = model.ordinary_ids();
  if (ordinary.empty()) refuse(model, "all tokens of this model are special");
  std::vector<std::int32_t> ids(count);
  // Steps through the vocabulary by a number that is prime to most sizes.
  for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<std::int32_t>(ordinary[i * 7919 % ordinary.size()]);
  if (const std::optional<std::int64_t> first = model.first_id()) ids.front() = static_cast<std::int32_t>(*first);
  return ids;
}

GraphWatcher watcher_of(GraphProbe& probe) {
  return {[&probe](int first, int count, bool) { probe.batch(first, count); },
          [&probe](ggml_tensor* node, bool ask) { return probe.see(node, ask); }};
}

// How position enters the attention of a layer, and whether q·k holds it.
void check_kind(const LlamaModel& model, int layer, const ProbedLayer& probed) {
  if (probed.visible.first > 1) {
    refuse(model,
           fmt::format("the first token sees {} keys in layer {}: the attention of this model is not causal, as "
                       "in embedding models and encoders; only models that read a text from left to right can be "
                       "captured",
                       probed.visible.first, layer));
  }
  if (probed.distance_bias != 0) {
    refuse(model, fmt::format("layer {} adds a bias by distance to q·k (ALiBi), so that queries and keys do not hold "
                              "the position; such a model cannot be measured",
                              layer));
  }
  if (probed.logit_bias) {
    refuse(model, fmt::format("layer {} adds a bias to q·k, so that queries and keys do not hold all of the attention; "
                              "such a model cannot be measured",
                              layer));
  }
  if (probed.q_weights_after || probed.k_weights_after) {
    refuse(model, fmt::format("weights act on the {} of layer {} after their rotation, so that they cannot be rotated "
                              "back; such a model cannot be measured",
                              probed.q_weights_after ? "queries" : "keys", layer));
  }
  if (!probed.rotated_alike) {
    refuse(model, fmt::format("the queries and keys of layer {} are not rotated alike; such a model cannot be measured",
                              layer));
  }
}

void check_numbers(const LlamaModel& model, int layer, const ProbedLayer& probed) {
  const auto fail = [&](const std::string& what) {
    refuse(model, fmt::format("the check of {} tokens failed in layer {}: {}; this version of libllama, or this "
                              "architecture ({}), is not understood",
                              probe_tokens, layer, what, model.architecture()));
  };
  if (probed.met != 1) fail(fmt::format("it compares queries with keys {} times", probed.met));
  if (!probed.has_cache) fail("its keys do not come from a cache");
  if (!probed.k_error) fail("its keys cannot be compared with what was written to the cache");
  if (probed.layer.rope && !probed.q_error) fail("its queries cannot be followed to their rotation");
  if (const double error = probed.q_error.value_or(0); error > largest_error) {
    fail(fmt::format("its queries are not the rotated ones, 1 - cos = {:.2g}", error));
  }
  if (const double error = probed.k_error.value_or(0); error > largest_error) {
    fail(fmt::format("the cells of its keys are not their tokens, or hold other vectors, 1 - cos = {:.2g}", error));
  }
}

bool may_lack_layers(const LlamaModel& model) {
  // A file that lists the heads of each layer may give a layer none.
  std::array<char, 16> unused{};
  const std::string key = fmt::format("{}.attention.head_count", model.architecture());
  return llama_model_is_hybrid(model.get()) || llama_model_is_recurrent(model.get()) ||
         llama_model_meta_val_str(model.get(), key.c_str(), unused.data(), unused.size()) < 0;
}

void check_layers(const LlamaModel& model, const std::map<int, ProbedLayer>& layers) {
  if (layers.empty()) {
    refuse(model, "no layer of this model compares queries with keys; there is nothing to measure");
  }
  for (const auto& [layer, probed] : layers) {
    check_kind(model, layer, probed);
    check_numbers(model, layer, probed);
  }
  const int last = layers.rbegin()->first;
  const bool all = static_cast<int>(layers.size()) == model.layers();
  if (last >= model.layers() || (!all && !may_lack_layers(model))) {
    refuse(model, fmt::format("the check of {} tokens met attention in {} layers, up to number {}; the model has {}",
                              probe_tokens, layers.size(), last, model.layers()));
  }
}

// Does not depend on how many documents are read at once, so that a dump does not either.
bool measures_window(const LlamaModel& model, int longest) {
  const int window = model.window();
  return window > 0 && (window <= usual_window || window < longest);
}

// The last two tokens of a text that is one longer than the window. In a window that slides both see as many keys; in
// chunks of the window's length one sees itself only, and the other one more.
std::map<int, VisibleKeys> visible_beyond_window(const LlamaModel& model, LlamaContext& context) {
  GraphProbe probe;
  const auto tokens = static_cast<std::size_t>(model.window()) + 2;
  context.skim(some_tokens(model, tokens), 2, watcher_of(probe));
  std::map<int, VisibleKeys> visible;
  for (const auto& [layer, probed] : probe.layers()) visible[layer] = probed.visible;
  return visible;
}

}  // namespace

int tokens_to_probe(const LlamaModel& model, int longest) {
  return std::max(probe_tokens, measures_window(model, longest) ? model.window() + 2 : 0);
}

std::vector<AttentionLayer> probed_layers(const LlamaModel& model, LlamaContext& context, int longest) {
  GraphProbe probe;
  const std::vector<std::int32_t> ids = some_tokens(model, probe_tokens);
  const std::vector<std::span<const std::int32_t>> whole{ids};
  context.read(whole, watcher_of(probe));
  check_layers(model, probe.layers());
  if (context.options().texts > 1) {  // cells of several texts follow each other
    GraphProbe of_two;
    const std::vector<std::span<const std::int32_t>> halves{std::span(ids).first(probe_tokens / 2),
                                                            std::span(ids).first(probe_tokens / 2)};
    context.read(halves, watcher_of(of_two));
    for (const auto& [layer, probed] : of_two.layers()) check_numbers(model, layer, probed);
  }
  std::map<int, VisibleKeys> visible;
  if (measures_window(model, longest)) visible = visible_beyond_window(model, context);
  std::vector<AttentionLayer> layers(static_cast<std::size_t>(model.layers()));
  for (const auto& [number, probed] : probe.layers()) {
    AttentionLayer& layer = layers.at(static_cast<std::size_t>(number));
    layer = probed.layer;
    const VisibleKeys seen = visible[number];
    if (seen.last > 0 && seen.last < model.window() + 2 && seen.first == seen.last) layer.window = seen.last;
  }
  return layers;
}

}  // namespace attention_plasticity
