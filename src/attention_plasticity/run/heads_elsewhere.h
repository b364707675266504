#pragma once

#include <cstdint>
#include <set>
#include <stop_token>
#include <string>

#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/part_engine.h"

namespace attention_plasticity {

/// What the measuring of heads elsewhere took.
struct CostElsewhere {
  double cpu_s = 0;                  ///< seconds of all processes
  std::uint64_t peak_rss_bytes = 0;  ///< of the largest process
  std::set<std::string> simd = {};   ///< their instruction sets
};

/// Measures all heads of a prepared run that are not kept already, by an engine. Heads are kept and told of as their
/// parts arrive. What the engine throws is the `failure` of the outcomes.
HeadOutcomes measure_elsewhere(const PreparedRun& prepared, const RunConfig& config, const RunMeans& means,
                               const RunObserver& observer, const PartEngine& engine, CostElsewhere& cost);

}  // namespace attention_plasticity
