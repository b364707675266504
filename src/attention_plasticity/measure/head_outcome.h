#pragma once

#include <cstdint>
#include <optional>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/rotation/evidence.h"
#include "attention_plasticity/source/head_source.h"

// Outcomes of heads. Everything that a run reports and writes about its heads follows from their outcomes, whichever
// process measured them and in whatever order.

namespace attention_plasticity {

/// A record of one side of a head that was read.
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
