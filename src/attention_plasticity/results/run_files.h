#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention_plasticity/head_result.h"
#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/results/run_json.h"
#include "attention_plasticity/results/schema.h"

// The files of a finished run, written into its folder.

namespace attention_plasticity {

/// The heads of a run that has ended, and what run.json states of it.
struct RunContents {
  std::span<const HeadResult> heads;            ///< by (layer, q_head)
  std::span<const WithoutGroup> without_group;  ///< one for each of `heads`
  WrittenColumns written;
  RunJson record;
  bool interrupted = false;  ///< stopped before all heads were measured
};

/// Writes the tables and run.json (OutputFiles), and returns their paths. The caller holds the locks of their folders.
/// An interrupted run leaves `*.partial.csv` and `run.partial.json` instead and does not touch earlier results; nor
/// does a run without any head, which leaves `run.failed.json`. A complete one removes what earlier ones left: partial
/// files, run.failed.json, and the tables of the run that it replaces.
std::vector<std::string> write_run_files(const RunContents& run, const TablePaths& tables, const std::string& run_json);

/// Throws Error(usage) when a run.json is of another input (root, or repo and revision) or of another model. `text` is
/// its content, and `file` names it in messages.
void require_same_run(const std::string& text, const std::string& file, const RunInput& input,
                      const std::string& model);
/// Reads the run.json that stands at `file` and checks it. Does nothing when there is none.
void require_same_run(const std::string& file, const RunInput& input, const std::string& model);

/// Writes the files of a run, as they are, into another folder, by the rules of `write_run_files`: under its lock, and
/// not over results of another input or model unless `overwrite` is true. Returns their paths. Throws Error(usage) as
/// `require_same_run` does, and Error(output).
std::vector<std::string> copy_results(const ResultFiles& files, const std::filesystem::path& folder, bool overwrite);

}  // namespace attention_plasticity
