#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace attention_plasticity {

enum class DigestKind { sha1, sha256 };

/// A digest of bytes that come piece by piece. Not to be used by two threads at once.
class Digest {
 public:
  explicit Digest(DigestKind kind);
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  /// Forgets what was added.
  void reset();
  void add(std::string_view bytes);
  /// The digest of all bytes added since the last reset: hexadecimal, in lower case. Call `reset` before adding more.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// The SHA-256 of a text: 64 hexadecimal digits in lower case.
std::string sha256(std::string_view text);

}  // namespace attention_plasticity
