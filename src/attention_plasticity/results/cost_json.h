#pragma once

#include "attention_plasticity/json/json.h"

namespace attention_plasticity {

/// Returns the cost of a run or of a shard, as run.json and shard.json have it. Cost is RunResources or ShardResources.
template <class Cost>
Json cost_json(const Cost& cost) {
  return {{"workers", cost.workers},
          {"wall_s", cost.wall_s},
          {"cpu_s", cost.cpu_s},
          {"peak_rss_bytes", cost.peak_rss_bytes}};
}

}  // namespace attention_plasticity
