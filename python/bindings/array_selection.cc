#include "array_selection.h"

#include <algorithm>

#include "attention_plasticity/options/config.h"
#include "attention_plasticity/source/prepared_run.h"

namespace attention_plasticity::python {
namespace {

bool is_selected(const std::optional<std::vector<int>>& selection, int index) {
  return !selection || std::ranges::binary_search(*selection, index);
}

}  // namespace

std::vector<std::pair<std::size_t, int>> selected_heads(const std::vector<NamedHead>& heads,
                                                        const NamedTexts& options) {
  const RunConfig config = resolve_config(settings_of(options));
  ModelGrid found;
  for (const auto& [layer, q_head, k_head] : heads) {
    found.num_layers = std::max(found.num_layers, layer + 1);
    found.num_q_heads = std::max(found.num_q_heads, q_head + 1);
  }
  check_selection(config, config.num_layers.value_or(found.num_layers), config.num_q_heads.value_or(found.num_q_heads));
  std::optional<ModelGrid> grid;
  if (config.num_q_heads && config.num_k_heads) {
    grid = ModelGrid{found.num_layers, *config.num_q_heads, *config.num_k_heads};
  }
  std::vector<std::pair<std::size_t, int>> selected;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const auto& [layer, q_head, k_head] = heads[i];
    if (!is_selected(config.layers, layer) || !is_selected(config.q_heads, q_head)) continue;
    selected.emplace_back(i, k_head.value_or(grid ? grid->k_head(q_head) : q_head));
  }
  return selected;
}

}  // namespace attention_plasticity::python
