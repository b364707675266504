#pragma once

#include <span>
#include <string>
#include <vector>

#include "attention_plasticity/base/folder_lock.h"

namespace attention_plasticity {

/// Takes the right to write these files, until the locks are destroyed. Warns of a file system that has no locks.
/// Throws Error(output) when another run is writing there.
std::vector<FolderLock> locked_outputs(std::span<const std::string> files);

}  // namespace attention_plasticity
