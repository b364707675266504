#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention_plasticity/base/byte_range.h"
#include "attention_plasticity/base/large_vector.h"
#include "attention_plasticity/dump/dump_files.h"

namespace attention_plasticity {

/// The XXH3 digest of 128 bits, of bytes that come piece by piece. It tells files apart and finds damage at the speed
/// of memory; it is no protection against someone who makes two files of one digest on purpose.
class FileDigest {
 public:
  FileDigest();
  ~FileDigest();
  FileDigest(const FileDigest&) = delete;
  FileDigest& operator=(const FileDigest&) = delete;

  void add(std::span<const std::uint8_t> bytes);
  /// 32 hexadecimal digits in lower case, as `xxhsum -H2` prints them.
  std::string finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The parts of a file that are being decoded, in memory, and a digest of the whole file made of the same bytes.
class FileBytes {
 public:
  explicit FileBytes(const InputFile& file) : file_(file) {}

  /// From now on ranges must be loaded in the order in which they lie in the file, and none twice.
  void begin_digest() { digest_.emplace(); }

  /// Reads ranges into memory, in place of those before. They must be in order and must not overlap.
  void load(std::span<const ByteRange> ranges);
  /// The bytes of a range that lies within a loaded one.
  std::span<const std::uint8_t> at(const ByteRange& range) const;

  /// The digest of the whole file. `end` are its last bytes, which were read before.
  std::string finish_digest(std::span<const std::uint8_t> end);

 private:
  struct Loaded {
    ByteRange range;
    std::size_t place = 0;  ///< in `memory_`
  };

  /// Adds the bytes up to `offset`, which nobody decodes, to the digest.
  void digest_up_to(std::uint64_t offset, FileDigest& digest);

  const InputFile& file_;
  LargeVector<std::uint8_t> memory_;
  std::vector<Loaded> loaded_;
  std::optional<FileDigest> digest_;
  std::uint64_t digested_ = 0;  ///< bytes from the beginning of the file
};

}  // namespace attention_plasticity
