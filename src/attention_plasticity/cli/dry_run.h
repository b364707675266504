#pragma once

#include <optional>
#include <string>

#include "attention_plasticity/outcomes/shard.h"
#include "attention_plasticity/run/stored_output.h"
#include "attention_plasticity/source/prepared_run.h"

namespace attention_plasticity {

/// What a run would do, beside its configuration.
struct DryRun {
  int workers = 1;
  std::string to_fetch;                  ///< from the Hub; empty: nothing
  std::optional<Shard> shard;            ///< none: all heads
  const StoredOutput* output = nullptr;  ///< the store that results go to; null: they stay on disk
};

/// Throws Error(usage) as check_earlier_results does, wherever the results go.
void check_earlier_output(const PreparedRun& prepared, const RunConfig& config, const StoredOutput* output);

/// Prints the resolved configuration, and the plan as comments below it. Makes no file.
void print_dry_run(const PreparedRun& prepared, const RunConfig& config, const DryRun& run);

}  // namespace attention_plasticity
