#pragma once

#include <filesystem>
#include <vector>

namespace attention_plasticity {

/// The folders of the cgroups (version 2) that this process is in, from the outermost on. A limit of any of them holds.
/// Only the mount point, which may not exist, where the system has no such cgroups.
std::vector<std::filesystem::path> own_cgroups();

}  // namespace attention_plasticity
