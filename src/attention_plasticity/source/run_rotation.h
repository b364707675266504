#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/rotation/check.h"
#include "attention_plasticity/rotation/dump_rotation.h"
#include "attention_plasticity/source/prepared_run.h"

namespace attention_plasticity {

/// Finds the rotation that the `rope_*` settings state, else `rope_config`, else the config.json beside the heads or in
/// the dump's `root`. None when none of them describes one. `largest_position` is called only if the rotation depends
/// on it. Throws Error(usage) for a rotation that cannot be used.
std::optional<DumpRotation> stated_rotation(const RunConfig& config, const std::filesystem::path& root,
                                            const DumpLayout& layout, const std::function<double()>& largest_position);

/// Returns true if the rotation of a run is checked: it is known, was not inferred from the vectors, and the options do
/// not leave the check out.
bool is_rotation_checked(const PreparedRun& prepared, const RunConfig& config);

/// Returns a checker of a decided run's rotation; null if it is not checked.
std::unique_ptr<RotationChecker> rotation_checker(const PreparedRun& prepared, const RunConfig& config);

}  // namespace attention_plasticity
