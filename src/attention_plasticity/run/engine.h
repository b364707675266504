#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/source/prepared_run.h"

// The heads of a run can be measured by other processes, on other machines. An engine places, starts and repeats that
// work; it passes on what a HeadWorker returned for each KV group.

namespace attention_plasticity {

/// Query heads that share a key head: one process measures them together.
struct KvGroup {
  std::vector<HeadId> heads;
  std::uint64_t bytes = 0;  ///< estimated memory; 0 if unknown
};

/// Cuts tasks into KV groups, in order.
std::vector<KvGroup> kv_groups(std::span<const HeadTask> tasks);

/// The work of an engine.
struct EngineWork {
  std::string manifest;  ///< of the run: run_manifest.h
  std::vector<KvGroup> groups;
  std::optional<int> most_at_a_time;  ///< groups measured at once; none: as many as the engine has places for
};

/// Callbacks of an engine. Call from one thread at a time; report each group once, by its number, in any order.
struct EngineReceiver {
  /// Takes the bytes that HeadWorker::measure returned. Throws Error(input) for bytes that are not the outcomes of the
  /// group's heads.
  std::function<void(std::size_t group, std::string_view bytes)> measured;
  /// Fails the heads of a group that could not be measured, though it was tried again.
  std::function<void(std::size_t group, const std::string& why)> failed;
  std::function<void(const std::string&)> note;
  std::function<void(const std::string&)> warning;
};

/// Measures groups, and returns when all were reported. After a stop request it returns early, without waiting for
/// groups in flight. Throws Error when no group can be measured any more, such as Error(network) when the machines are
/// gone.
using Engine = std::function<void(const EngineWork&, const EngineReceiver&, const std::stop_token&)>;

/// The cost of an engine's workers.
struct EngineCost {
  double cpu_s = 0;                  ///< seconds of all processes
  std::uint64_t peak_rss_bytes = 0;  ///< of the largest process
  std::set<std::string> simd = {};   ///< their instruction sets
};

/// Measures all heads of a prepared and decided run that are not saved already, by an engine. The observer must have
/// all functions. What the engine throws is the `failure` of the outcomes.
HeadOutcomes measure_by_engine(const PreparedRun& prepared, const RunConfig& config, const MeasureOptions& options,
                               const RunObserver& told, const Engine& engine, EngineCost& cost);

}  // namespace attention_plasticity
