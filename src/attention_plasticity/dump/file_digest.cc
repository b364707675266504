#include "attention_plasticity/dump/file_digest.h"

#include <fmt/format.h>

#include <new>

#define XXH_INLINE_ALL  // the wheel's libraries do not export it
#include <arrow/vendored/xxhash.h>

namespace attention_plasticity {

struct FileDigest::State {
  XXH3_state_t xxh3;
};

FileDigest::FileDigest() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh3); }
FileDigest::~FileDigest() = default;

void FileDigest::add(std::span<const std::uint8_t> bytes) {
  XXH3_128bits_update(&state_->xxh3, bytes.data(), bytes.size());
}

std::string FileDigest::finish() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh3);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace attention_plasticity
