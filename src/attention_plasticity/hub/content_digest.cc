#include "attention_plasticity/hub/content_digest.h"

#include <fmt/format.h>

namespace attention_plasticity {

ContentDigest::ContentDigest(const RepoFile& file)
    : digest_(file.is_large ? DigestKind::sha256 : DigestKind::sha1),
      // A Git object is its kind, its size, a zero byte and its content.
      prefix_(file.is_large ? "" : fmt::format("blob {}", file.size) + '\0') {
  reset();
}

void ContentDigest::reset() {
  digest_.reset();
  digest_.add(prefix_);
}

}  // namespace attention_plasticity
