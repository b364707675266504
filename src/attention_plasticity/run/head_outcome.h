#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/run/rotation_evidence.h"

// What became of one head. All that a run tells and writes about its heads is a function of their outcomes, whoever
// measured them and in whatever order.

namespace attention_plasticity {

/// What was read of the file of a head.
struct FileRead {
  InputDigest input;
  std::uint64_t dropped_rows = 0;  ///< by `non_finite: drop`
  bool has_examples = true;        ///< false: the file has no example_id column
  /// What its vectors say about the rotation; none when it is not one of the files by which that is judged.
  std::optional<FileEvidence> evidence;
};

/// The keys that several heads read.
struct LoadedKeys {
  OrientedKeys keys;
  FileRead read;
};

/// A head's values with the groups of the examples of all heads left out.
struct CommonGroups {
  std::string examples_sha256;  ///< of the examples of all heads: examples_digest()
  WithoutGroup without_group;
};

/// Either `measured` or `failure` is set.
struct HeadOutcome {
  HeadId head;
  std::optional<MeasuredHead> measured;
  std::optional<HeadFailure> failure;
  std::optional<FileRead> queries;            ///< none: they could not be read
  std::optional<FileRead> keys;               ///< likewise
  std::optional<CommonGroups> common_groups;  ///< measured where the head's own examples are others
};

/// The memory that an outcome holds, in bytes.
std::uint64_t memory_of(const HeadOutcome& outcome);

}  // namespace attention_plasticity
