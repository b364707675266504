#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

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

}  // namespace attention_plasticity
