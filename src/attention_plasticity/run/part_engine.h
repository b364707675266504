#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/head_result.h"
#include "attention_plasticity/run/prepared_run.h"

// The heads of a run can be measured by other processes, on other machines. The run is cut into parts. Whoever places,
// starts and repeats the work on a part is an engine; it hands back what a PartWorker made of each part.

namespace attention_plasticity {

/// Heads that one process measures at a time: those that read the same keys.
struct KeyGroup {
  std::vector<HeadId> heads;
  std::uint64_t bytes = 0;  ///< estimated memory; 0: unknown
};

/// The tasks cut into parts, in order.
std::vector<KeyGroup> key_groups(std::span<const HeadTask> tasks);

/// What an engine is asked to do.
struct PartWork {
  std::string manifest;  ///< of the run: run_manifest.h
  std::vector<KeyGroup> parts;
  std::optional<int> most_at_a_time;  ///< parts measured at once; none: as many as the engine has places for
};

/// What the engine tells, from one thread at a time. Parts are named by their number, and told once, in any order.
struct PartReceiver {
  /// `bytes`: what PartWorker::measure returned. Throws Error(input) for bytes that are not the outcomes of the part.
  std::function<void(std::size_t part, std::string_view bytes)> measured;
  /// The part could not be measured, though it was tried again: its heads have failed.
  std::function<void(std::size_t part, const std::string& why)> failed;
  std::function<void(const std::string&)> note;
  std::function<void(const std::string&)> warning;
};

/// Measures parts, and returns when all were told. After a stop request it returns early, without waiting for parts in
/// flight. Throws Error when no part can be measured any more, such as Error(network) when the machines are gone.
using PartEngine = std::function<void(const PartWork&, const PartReceiver&, const std::stop_token&)>;

}  // namespace attention_plasticity
