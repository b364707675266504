#pragma once

#include "attention_plasticity/options/config.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/source/prepared_run.h"

namespace attention_plasticity {

/// A run that has ended: over a dump, over heads in memory, or merged from shards.
struct FinishedRun {
  RunConfig config;
  PreparedRun prepared;
  RunResult result;
};

}  // namespace attention_plasticity
