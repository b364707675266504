#include "attention_plasticity/dump/file_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

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

void FileBytes::load(std::span<const ByteRange> ranges) {
  std::uint64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.size();
  loaded_.clear();
  memory_.clear();
  memory_.resize(static_cast<std::size_t>(bytes));
  loaded_.reserve(ranges.size());
  std::size_t place = 0;
  for (const ByteRange& range : ranges) {
    const std::span<std::uint8_t> part = std::span(memory_).subspan(place, static_cast<std::size_t>(range.size()));
    if (digest_) digest_up_to(range.begin, *digest_);
    file_.read(range.begin, part);
    if (digest_) {
      digest_->add(part);
      digested_ = range.end;
    }
    loaded_.push_back({range, place});
    place += part.size();
  }
}

std::span<const std::uint8_t> FileBytes::at(const ByteRange& range) const {
  const auto found = std::ranges::find_if(loaded_, [&](const Loaded& loaded) {
    return loaded.range.begin <= range.begin && range.end <= loaded.range.end;
  });
  if (found == loaded_.end()) throw std::logic_error("these bytes are not in memory");
  const std::size_t place = found->place + static_cast<std::size_t>(range.begin - found->range.begin);
  return std::span(memory_).subspan(place, static_cast<std::size_t>(range.size()));
}

void FileBytes::digest_up_to(std::uint64_t offset, FileDigest& digest) {
  constexpr std::uint64_t piece = 64 << 10;
  std::vector<std::uint8_t> bytes;
  while (digested_ < offset) {
    bytes.resize(static_cast<std::size_t>(std::min(piece, offset - digested_)));
    file_.read(digested_, bytes);
    digest.add(bytes);
    digested_ += bytes.size();
  }
}

std::string FileBytes::finish_digest(std::span<const std::uint8_t> end) {
  if (!digest_) return {};
  FileDigest& digest = *digest_;
  digest_up_to(file_.size() - end.size(), digest);
  digest.add(end);
  return digest.finish();
}

}  // namespace attention_plasticity
