#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attention_plasticity/hub/listing.h"

namespace attention_plasticity {

/// Computes the digest of a file piece by piece: the SHA-256 of the content of a large file, Git's SHA-1 of the blob
/// object of a small one. The Hub lists the same digest as the file's etag.
class ContentDigest {
 public:
  explicit ContentDigest(const RepoFile& file);
  ~ContentDigest();
  ContentDigest(const ContentDigest&) = delete;
  ContentDigest& operator=(const ContentDigest&) = delete;

  /// Forgets all bytes that were added.
  void reset();
  void add(std::string_view bytes);
  /// The digest of all bytes that were added, hexadecimal in lower case. Call `reset` before adding bytes again.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace attention_plasticity
