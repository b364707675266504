#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "named_texts.h"

namespace attention_plasticity::python {

/// A head in memory: layer, query head, and its key head where that is named.
using NamedHead = std::tuple<int, int, std::optional<int>>;

/// The heads that the options `layers` and `q_heads` select, as their places in the list and their key heads. Where a
/// key head is not named, `num_q_heads` and `num_k_heads` tell it; without these each query head has its own. Throws
/// Error(usage) for the same selections and sizes as a run over a dump.
std::vector<std::pair<std::size_t, int>> selected_heads(const std::vector<NamedHead>& heads, const NamedTexts& options);

}  // namespace attention_plasticity::python
