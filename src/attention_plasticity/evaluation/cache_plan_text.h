#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attention_plasticity/evaluation/cache_plan.h"

// A cache plan as a file, in one of three formats:
//
//   json    everything: {"schema": 1, "kind": "attention-plasticity cache plan", "model", "column", "group", "keep",
//           "threshold", "window", "sinks", "num_layers", "num_q_heads", "num_kv_heads", "heads": [{"layer", "kv_head",
//           "kind": "full|window|sliding", "score", "window"}]}; values that are unknown or do not apply are null
//   tsv     a matrix of layers by KV heads, separated by tabs: 1 for full and 0 for window, as DuoAttention reads it.
//           Sliding layers are 1, because they keep the model's own attention
//   scores  {"layer-head": [score]} for every query head, the layout in which retrieval heads are published. Each query
//           head has the score of its KV head. A head without a score has 1.0 when full or sliding and 0.0 when
//           windowed; among scores above 1, that 1.0 is not the largest

namespace attention_plasticity {

enum class PlanFormat { json, tsv, scores };

std::string cache_plan_text(const CachePlan& plan, PlanFormat format);

/// The format of a text, told from its content. Throws Error(input) for text in none of the three formats.
PlanFormat cache_plan_format(std::string_view text, const std::string& file);

/// Reads back what cache_plan_text wrote, to the last digit. Throws Error(input), naming the key, for other text.
CachePlan parse_plan_json(std::string_view text, const std::string& file);

/// A KV head is full when its number is >= 0.5. The matrix holds neither scores nor sliding layers nor query heads: the
/// caller gives `num_q_heads` (a multiple of the KV heads; none: as many as KV heads), and `options` give the window
/// and the sinks.
CachePlan parse_plan_tsv(std::string_view text, const std::string& file, std::optional<int> num_q_heads,
                         const CachePlanOptions& options);

/// Makes a new plan from the scores. The numbers of layers and query heads are 1 + the largest index; `num_kv_heads` is
/// the number of KV heads (none: as many as query heads).
CachePlan parse_plan_scores(std::string_view text, const std::string& file, std::optional<int> num_kv_heads,
                            const CachePlanOptions& options);

}  // namespace attention_plasticity
