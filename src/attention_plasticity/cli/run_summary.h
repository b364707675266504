#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/evaluation/head_labels.h"
#include "attention_plasticity/results/summary.h"
#include "attention_plasticity/run/analysis_run.h"

namespace attention_plasticity {

/// Returns labels of the heads: from the file given, or from head_labels.csv in the dump; none when there are none.
/// `notes` gets what does not fit.
std::optional<HeadLabels> find_labels(const std::optional<std::string>& given, const PreparedRun& prepared,
                                      std::vector<std::string>& notes);

/// Prints the figures of a run and the `files` that it wrote.
void print_summary(const PreparedRun& prepared, const RunResult& run, const RunSummary& summary,
                   const std::vector<std::string>& files, const std::optional<HeadLabels>& labels);

/// The exit code of a run whose results are written. Tells of heads without plasticity.
int exit_code_of(const RunResult& run);

}  // namespace attention_plasticity
