#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// What depends on all heads of a run, decided once for all of its shards: the rotation, where it is inferred from the
/// vectors or depends on the longest text, and the examples of all heads, whose groups the error of the model leaves
/// out. Each shard would find the same rotation by itself, from as many files; the examples it would not know.
struct RunPlan {
  std::string manifest;                 ///< of the run: run_manifest.h
  std::vector<std::uint64_t> examples;  ///< ascending; empty: a head names none, or there are no standard errors
  std::string file = {};                ///< where it was read; empty: it was made here

  /// Reads the example ids of all files of the run.
  static RunPlan of(const PreparedRun& prepared, const RunConfig& config);
  /// Of a path, or of an address in a store. Throws Error(input) for a file that is not a plan, and Error as Store
  /// does.
  static RunPlan read(const std::string& path_or_address);

  /// plan.json (docs/formats.md).
  std::string text() const;
  /// The run as it was prepared.
  PreparedRun run() const;
  /// Throws Error(usage), with what differs, when the plan was made for another run than this.
  void check(const PreparedRun& prepared, const RunConfig& config) const;
};

/// The path of plan.json: beside run.json.
std::string plan_json_path(const RunConfig& config);

}  // namespace attention_plasticity
