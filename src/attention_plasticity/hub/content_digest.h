#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>

#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/hub/listing.h"

namespace attention_plasticity {

/// Computes the digest of a file piece by piece: the SHA-256 of the content of a large file, Git's SHA-1 of the blob
/// object of a small one. The Hub lists the same digest as the file's etag.
class ContentDigest {
 public:
  explicit ContentDigest(const RepoFile& file);

  /// Forgets what was added.
  void reset();
  void add(std::string_view bytes) { digest_.add(bytes); }
  /// The digest of all bytes added since the last reset: hexadecimal, in lower case. Call `reset` before adding more.
  std::string finish() { return digest_.finish(); }

 private:
  Digest digest_;
  std::string prefix_;  // counts before the content
};

/// Whether the content of a file on disk has the size and the digest that the Hub lists. Throws Error(input) when it
/// cannot be read, and Stopped.
bool has_digest(const std::filesystem::path& content, const RepoFile& file, const std::stop_token& stop);

}  // namespace attention_plasticity
