#pragma once

#include <memory>
#include <vector>

#include "attention_plasticity/run/stored_output.h"
#include "attention_plasticity/settings/setting.h"

namespace attention_plasticity {

/// Where `output_dir` is an address of a store, results go there, and the setting becomes a folder on disk: below
/// XDG_CACHE_HOME or ~/.cache, the same for the same address. It is not made yet. Null: results stay on disk. Throws
/// Error as StoredOutput.
std::unique_ptr<StoredOutput> stored_output(std::vector<Setting>& settings);

}  // namespace attention_plasticity
