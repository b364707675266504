#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>

#include "attention_plasticity/analysis/run_groups.h"
#include "attention_plasticity/dump/capture_metadata.h"
#include "attention_plasticity/measure/head_outcome.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/rotation/check.h"
#include "attention_plasticity/source/head_source.h"

namespace attention_plasticity {

/// How heads are measured. All that is referred to must outlive the call of measure_heads.
struct MeasureContext {
  const RunConfig& config;
  const std::optional<DumpRotation>& rotation;     ///< none: position-exact plasticity is not measured
  const std::optional<StatedNumber>& model_width;  ///< components of a query or key that a config.json states
  const RunGroups& groups;                         ///< of the run
  RotationChecker* checker = nullptr;              ///< measures evidence on the rotation, unless null
  std::uint64_t held_bytes = 0;                    ///< of `memory_limit`, by outcomes that are there already
  std::size_t heads_of_run = 0;                    ///< heads that share `memory_limit`; 0: those that are measured
};

/// Measures the heads of a source on `workers` threads and passes the outcome of each to `ended`, one at a time, with
/// the place of its task. The source has been told to expect the tasks. A head that cannot be measured has a failure.
/// Returns early after a stop request. Throws what ends the run: a failure of the source, or a rotation that fits no
/// head.
void measure_heads(HeadSource& source, std::span<const HeadTask> tasks, const MeasureContext& context, int workers,
                   const std::stop_token& stop,
                   const std::function<void(std::size_t task, HeadOutcome outcome)>& ended);

}  // namespace attention_plasticity
