#include "attention_plasticity/base/disk_space.h"

#include <limits>
#include <system_error>

namespace attention_plasticity {

namespace fs = std::filesystem;

std::uintmax_t free_disk_bytes(const fs::path& folder) {
  std::error_code unknown;
  fs::path existing = fs::absolute(folder, unknown);
  while (!fs::exists(existing, unknown) && existing != existing.parent_path()) existing = existing.parent_path();
  const fs::space_info space = fs::space(existing, unknown);
  return unknown ? std::numeric_limits<std::uintmax_t>::max() : space.available;
}

}  // namespace attention_plasticity
