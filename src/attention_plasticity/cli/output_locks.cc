#include "attention_plasticity/cli/output_locks.h"

#include <fmt/format.h>

#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/results/output_files.h"

namespace attention_plasticity {

std::vector<FolderLock> locked_outputs(std::span<const std::string> files) {
  std::vector<FolderLock> locks = lock_outputs(files);
  for (const FolderLock& lock : locks) {
    if (lock.is_held()) continue;
    tell(fmt::format("warning: {}: this file system has no locks; make sure that no other run writes here\n",
                     lock.folder().string()));
  }
  return locks;
}

}  // namespace attention_plasticity
