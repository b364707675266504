#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attention_plasticity/hub/listing.h"

namespace attention_plasticity {

/// The digest that a file's content must have, fed piece by piece: SHA-256 for a large file, Git's SHA-1 of the object
/// for a small one.
class ContentDigest {
 public:
  explicit ContentDigest(const RepoFile& file);
  ~ContentDigest();
  ContentDigest(const ContentDigest&) = delete;
  ContentDigest& operator=(const ContentDigest&) = delete;

  /// From the start again.
  void reset();
  void add(std::string_view bytes);
  /// Of all that was added: hexadecimal, in lower case. Ends the digest until the next reset.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace attention_plasticity
