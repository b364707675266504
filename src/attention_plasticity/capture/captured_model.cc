#include "attention_plasticity/capture/captured_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// As many as the indices of a setting reach (settings/value_kind.h).
constexpr std::size_t most_layers_or_heads = 10000;
constexpr std::size_t widest = 65536;

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::usage, message); }

void check_layer(const CapturedLayer& layer, std::size_t number) {
  if (layer.q_heads == 0) return;
  const auto most = static_cast<int>(most_layers_or_heads);
  if (layer.q_heads < 0 || layer.k_heads < 1 || layer.q_heads > most || layer.q_heads % layer.k_heads != 0) {
    refuse(fmt::format("layer {} has {} query heads and {} key heads; the first should be a multiple of the second",
                       number, layer.q_heads, layer.k_heads));
  }
  if (layer.width < 1 || layer.width > widest) {
    refuse(fmt::format("layer {} has vectors of {} components; there should be 1 to {}", number, layer.width, widest));
  }
  if (layer.window && *layer.window < 1) {
    refuse(fmt::format("layer {} has a window of {} tokens; there should be at least one", number, *layer.window));
  }
}

LayerHeads heads_of_layer(const CaptureSettings& settings, const CapturedLayer& layer, std::size_t number) {
  LayerHeads heads;
  if (settings.heads.empty()) {
    heads.queries.reserve(static_cast<std::size_t>(layer.q_heads));
    for (int head = 0; head < layer.q_heads; ++head) heads.queries.push_back(head);
  } else if (settings.heads.back() >= layer.q_heads) {
    refuse(fmt::format("`heads`: there is no query head {}: layer {} has {}, from 0 on", settings.heads.back(), number,
                       layer.q_heads));
  } else {
    heads.queries = settings.heads;
  }
  for (const int head : heads.queries) {
    const int key = head / (layer.q_heads / layer.k_heads);
    if (heads.keys.empty() || heads.keys.back() != key) heads.keys.push_back(key);
  }
  return heads;
}

}  // namespace

std::vector<LayerHeads> chosen_heads(const CaptureSettings& settings, const CapturedModel& model) {
  if (model.layers.empty() || model.layers.size() > most_layers_or_heads) {
    refuse(fmt::format("the model has {} layers; there should be 1 to {}", model.layers.size(), most_layers_or_heads));
  }
  const auto layers = static_cast<int>(model.layers.size());
  if (!settings.layers.empty() && settings.layers.back() >= layers) {
    refuse(fmt::format("`layers`: there is no layer {}: the model has {}, from 0 on", settings.layers.back(), layers));
  }
  std::vector<LayerHeads> chosen(model.layers.size());
  bool any = false;
  for (int number = 0; number < layers; ++number) {
    const auto index = static_cast<std::size_t>(number);
    const CapturedLayer& layer = model.layers[index];
    check_layer(layer, index);
    if (layer.q_heads == 0) continue;
    if (!settings.layers.empty() && !std::ranges::binary_search(settings.layers, number)) continue;
    chosen[index] = heads_of_layer(settings, layer, index);
    any = true;
  }
  if (!any) refuse("none of the chosen `layers` has attention");
  return chosen;
}

}  // namespace attention_plasticity
