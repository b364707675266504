#pragma once

#include <cstdint>
#include <optional>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/rotation/evidence.h"
#include "attention_plasticity/source/head_source.h"

// The outcome of one head. All that a run reports and writes about its heads is a function of their outcomes, whoever
// measured them and in whatever order.

namespace attention_plasticity {

/// What one side of a head left behind once it was read.
struct SideRecord {
  ReadRecord read;
  /// Evidence on the rotation; none if this is not one of the sides by which that is judged.
  std::optional<FileEvidence> evidence;
};

/// The keys that several heads read.
struct LoadedKeys {
  OrientedKeys keys;
  SideRecord record;
};

/// Either `measured` or `failure` is set.
struct HeadOutcome {
  HeadId head;
  std::optional<MeasuredHead> measured;
  std::optional<HeadFailure> failure;
  std::optional<SideRecord> queries;  ///< none if they could not be read
  std::optional<SideRecord> keys;     ///< none if they could not be read
};

/// The memory that an outcome holds, in bytes.
std::uint64_t memory_of(const HeadOutcome& outcome);

}  // namespace attention_plasticity
