#pragma once

#include <cstdint>

namespace attention_plasticity {

/// Bytes of a file, from `begin` to before `end`.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace attention_plasticity
