#include "attention_plasticity/hub/content_digest.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/http.h"

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

bool has_digest(const std::filesystem::path& content, const RepoFile& file, const std::stop_token& stop) {
  std::ifstream in(content, std::ios::binary);
  ContentDigest digest(file);
  std::vector<char> buffer(std::size_t{1} << 20U);
  std::uint64_t size = 0;
  while (in) {
    throw_if_stopped(stop);
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto count = static_cast<std::size_t>(in.gcount());
    digest.add({buffer.data(), count});
    size += count;
  }
  if (!in.eof()) throw Error(ErrorKind::input, "this file of the cache cannot be read", content.string());
  return size == file.size && digest.finish() == file.etag;
}

}  // namespace attention_plasticity
