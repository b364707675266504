#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attention_plasticity/hub/answers.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/settings/field.h"

// A sweep is a list of runs in a YAML file: fields of the configuration that all runs share, and under `runs` those of
// each run, with its name. An item may stand for several runs: a pattern of folders in `dataset_local_root`, or of
// branches and tags in `dataset_revision`.
//
//     output_dir: out/sweep
//     num_triples: 20000
//     runs:
//       - {name: base, dataset_local_root: dumps/base}
//       - {dataset_local_root: dumps/step-*}
//       - {name: tuned, dataset_name: org/dumps, dataset_revision: step-*}

namespace attention_plasticity {

/// One run of a sweep.
struct SweepRun {
  std::string name;   ///< of its folder, below that of the sweep
  RunConfig config;   ///< its outputs are in that folder
  std::string where;  ///< its item in the file: "sweep.yaml:12"
};

struct Sweep {
  std::string output_dir;
  std::vector<SweepRun> runs;  ///< at least one, with different names
};

/// The branches and tags of a dataset on the Hub.
using RefsOf = std::function<RepoRefs(const std::string& repo)>;

/// Reads a sweep. `flags` win over the file, for all runs. A relative path is one from the working folder, as in any
/// configuration. Patterns are those of glob(3) and fnmatch(3); their runs are in the order of the numbers in their
/// names (strverscmp). Throws Error(usage), naming file and line, as read_yaml_list and resolve_config do; for a file
/// without `output_dir`, a name that is no folder's or occurs twice, two runs that write the same file, a pattern that
/// nothing matches, and more than 10,000 runs.
Sweep read_sweep(const std::string& file, std::span<const Setting> flags, const RefsOf& refs);

/// The fields of an item: `name` and those of the configuration.
const std::vector<Field>& sweep_item_fields();

}  // namespace attention_plasticity
