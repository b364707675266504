#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/error.h"

// What the fuzz targets have in common. A target may throw Error, whose text is one printable line; all else is a
// finding.

namespace attention_plasticity::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Calls `act`, which may throw Error. True: it did not.
template <typename Act>
bool succeeds(Act&& act) {
  try {
    act();
    return true;
  } catch (const Error& error) {
    const std::string_view text = error.what();
    require(!text.empty() && printable_text(text) == text);
    return false;
  }
}

/// A file in memory with these bytes, for what reads files by their path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(descriptor_ >= 0);
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      require(written > 0);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace attention_plasticity::fuzz
