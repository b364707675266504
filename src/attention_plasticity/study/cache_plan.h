#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/results/head_metrics.h"
#include "attention_plasticity/results/run_description.h"

// Which KV heads need their whole cache. A KV head all of whose query heads have a low position-exact plasticity
// attends by position rather than by content, and can do with the first tokens (the sinks) and a window of the last.

namespace attention_plasticity {

enum class CacheKind {
  full,     ///< keeps the whole context
  window,   ///< keeps sinks and a window
  sliding,  ///< of a layer that slides by the model's own design; left as it is
};

/// How the scores of a KV head's query heads become its own.
enum class GroupScore { max, mean };

struct CachePlanOptions {
  std::string column = "ap_exact";
  GroupScore group = GroupScore::max;
  std::optional<double> keep;       ///< share in [0, 1] of the scored KV heads that stay full; this one
  std::optional<double> threshold;  ///< or this: full when the score is at least that
  std::int64_t window = 64;         ///< tokens, >= 1
  std::int64_t sinks = 4;           ///< tokens, >= 0
  bool keep_missing = false;        ///< a KV head without a score stays full; otherwise it is an error
};

struct PlannedHead {
  CacheKind kind = CacheKind::full;
  double score = std::numeric_limits<double>::quiet_NaN();  ///< NaN: sliding, or not measured
  std::int64_t window = 0;                                  ///< in tokens, of window and sliding heads; else 0
};

struct CachePlan {
  std::optional<std::string> model;
  std::optional<std::string> column;  ///< none: not known where the scores came from
  GroupScore group = GroupScore::max;
  std::optional<double> keep;
  std::optional<double> threshold;
  std::int64_t window = 64;
  std::int64_t sinks = 4;
  int num_layers = 0;
  int num_q_heads = 0;
  int num_kv_heads = 0;
  std::vector<PlannedHead> heads;  ///< layer by layer

  const PlannedHead& head(int layer, int kv_head) const {
    return heads[static_cast<std::size_t>(layer) * static_cast<std::size_t>(num_kv_heads) +
                 static_cast<std::size_t>(kv_head)];
  }
  std::size_t count(CacheKind kind) const;
};

struct QueryHeadScore {
  int layer = 0;
  int q_head = 0;
  double score = 0;  ///< NaN counts as missing
};

/// Throws Error(usage) unless exactly one of keep and threshold is given and all is in range.
void check(const CachePlanOptions& options);

/// The plan of a model whose query heads have these scores. With `keep`, floor(keep n + 1/2) of the n scored KV heads
/// in layers that do not slide stay full, higher scores first, then lower layers and heads. Throws Error(input), naming
/// `file`, for heads outside the model and, unless keep_missing, for query heads without a score.
CachePlan plan_cache(const RunDescription& model, std::span<const QueryHeadScore> scores,
                     const CachePlanOptions& options, const std::string& file);

/// The same from a run's metrics. Without a run.json the model is as large as the metrics tell (1 + largest index) and
/// no layer slides.
CachePlan plan_cache(const HeadMetrics& metrics, const std::optional<RunDescription>& run,
                     const CachePlanOptions& options);

/// The share of the cache that a plan saves at a context of `tokens` > 0: 1 - planned / now. Full heads hold all tokens
/// T, sliding ones min(T, their window), and window ones, which now hold T, min(T, window + sinks).
double cache_saved(const CachePlan& plan, std::int64_t tokens);

}  // namespace attention_plasticity
