#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/evaluation/head_labels.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/run_json.h"

// A cache plan says which KV heads need their whole cache. When all query heads of a KV head have a low position-exact
// plasticity, the head attends by position rather than by content. It then needs only the first tokens (the sinks) and
// a window of the last tokens.

namespace attention_plasticity {

enum class CacheKind {
  full,     ///< keeps the whole context
  window,   ///< keeps sinks and a window
  sliding,  ///< keeps the sliding window that the model gives to the layer
};

/// How the score of a KV head follows from the scores of its query heads.
enum class GroupScore { max, mean };

/// Exactly one of `keep` and `threshold` must be given.
struct CachePlanOptions {
  /// What scores the query heads: a column of the metrics or of labels. A minus sign before it turns the order, for
  /// columns in which a small value speaks for the whole cache. Several, separated by commas: see plan_cache.
  std::string column = "ap_exact";
  GroupScore group = GroupScore::max;
  std::optional<double> keep;       ///< share in [0, 1] of the scored KV heads that stay full
  std::optional<double> threshold;  ///< least score of a KV head that stays full
  std::int64_t window = 64;         ///< tokens, >= 1
  std::int64_t sinks = 4;           ///< tokens, >= 0
  bool keep_missing = false;        ///< true: a KV head without a score stays full; false: it is an error
};

struct PlannedHead {
  CacheKind kind = CacheKind::full;
  double score = std::numeric_limits<double>::quiet_NaN();  ///< NaN: sliding, or not measured
  std::int64_t window = 0;                                  ///< tokens, for window and sliding heads; 0 for full ones
};

struct CachePlan {
  std::optional<std::string> model;
  std::optional<std::string> column;  ///< none: the origin of the scores is unknown
  GroupScore group = GroupScore::max;
  std::optional<double> keep;
  std::optional<double> threshold;
  std::int64_t window = 64;
  std::int64_t sinks = 4;
  int num_layers = 0;
  int num_q_heads = 0;
  int num_kv_heads = 0;
  std::vector<PlannedHead> heads;  ///< all KV heads, layer by layer

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

/// Throws Error(usage) unless exactly one of keep and threshold is given and all options are in range.
void check(const CachePlanOptions& options);

/// The plan for a model whose query heads have these scores. With `keep`, floor(keep n + 1/2) KV heads stay full, where
/// n counts the scored KV heads in layers without a sliding window. Higher scores come first; ties go to lower layers,
/// then to lower heads. Throws Error(input), naming `file`, for heads outside the model and, unless keep_missing, for
/// query heads without a score.
CachePlan plan_cache(const RunDescription& model, std::span<const QueryHeadScore> scores,
                     const CachePlanOptions& options, const std::string& file);

/// The same from a run's metrics and, where given, labels of its heads. Without `run`, the size of the model is 1 + the
/// largest index in the metrics, and no layer has a sliding window. With several columns, the score of a KV head is the
/// mean over the columns of (r - 1) / (n - 1) in [0, 1], where r is its average rank among the n scored KV heads; a KV
/// head without a value in one of the columns has no score. Throws Error(usage) for a column that neither has, or both.
CachePlan plan_cache(const HeadMetrics& metrics, const std::optional<RunDescription>& run,
                     const CachePlanOptions& options, const HeadLabels* labels = nullptr);

/// The share of the cache that a plan saves at a context of T = `tokens` > 0: 1 - planned / now, in [0, 1). Full heads
/// hold T tokens and sliding heads hold min(T, their window), both now and as planned. Window heads hold T tokens now
/// and min(T, window + sinks) as planned.
double cache_saved(const CachePlan& plan, std::int64_t tokens);

}  // namespace attention_plasticity
