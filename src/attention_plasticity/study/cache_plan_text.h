#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attention_plasticity/study/cache_plan.h"

// A cache plan as a file, in one of three formats:
//
//   json    all of it: {"schema": 1, "kind": "attention-plasticity cache plan", "model", "column", "group", "keep",
//           "threshold", "window", "sinks", "num_layers", "num_q_heads", "num_kv_heads", "heads": [{"layer", "kv_head",
//           "kind": "full|window|sliding", "score", "window"}]}; what is unknown or does not apply is null
//   tsv     a matrix of layers by KV heads between tabs, 1 for full and 0 for window, as DuoAttention reads it; sliding
//           layers are 1: they keep the model's own attention
//   scores  {"layer-head": [score]} of every query head, as readers of retrieval heads expect it; each carries the
//   score
//           of its KV head. Heads without a score: 1.0 when full or sliding, 0.0 when windowed. Where the scores come
//           from a column that passes 1, that is not the largest.

namespace attention_plasticity {

enum class PlanFormat { json, tsv, scores };

std::string cache_plan_text(const CachePlan& plan, PlanFormat format);

/// Throws Error(input) for text that is none of them.
PlanFormat cache_plan_format(std::string_view text, const std::string& file);

/// What cache_plan_text wrote, to the last digit. Throws Error(input), naming the key, for anything else.
CachePlan parse_plan_json(std::string_view text, const std::string& file);

/// Full where the number is >= 0.5. The matrix knows of no scores, no sliding layers and no query heads:
/// `num_q_heads` (a multiple of the KV heads; none: as many), the window and the sinks come from outside.
CachePlan parse_plan_tsv(std::string_view text, const std::string& file, std::optional<int> num_q_heads,
                         const CachePlanOptions& options);

/// Plans anew from the scores, with 1 + the largest index as the model's size and `num_kv_heads` (none: as many as
/// query heads).
CachePlan parse_plan_scores(std::string_view text, const std::string& file, std::optional<int> num_kv_heads,
                            const CachePlanOptions& options);

}  // namespace attention_plasticity
