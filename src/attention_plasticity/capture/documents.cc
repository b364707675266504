#include "attention_plasticity/capture/documents.h"

#include <algorithm>
#include <bit>

#include "attention_plasticity/digest/digest.h"

namespace attention_plasticity {

std::vector<TokenRange> documents_of(std::size_t tokens, std::size_t max_length, LongTexts long_texts) {
  std::vector<TokenRange> documents;
  for (std::size_t begin = 0; begin < tokens; begin += max_length) {
    const std::size_t end = std::min(tokens, begin + max_length);
    if (begin > 0 && (long_texts == LongTexts::cut || tokens - begin <= max_length / 2)) break;
    documents.push_back({begin, end});
  }
  return documents;
}

std::string documents_digest(std::span<const std::vector<std::int64_t>> documents) {
  static_assert(std::endian::native == std::endian::little);
  Digest digest(DigestKind::sha256);
  const auto add = [&](std::span<const std::int64_t> numbers) {
    digest.add({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});  // NOLINT(*-reinterpret-cast)
  };
  for (const std::vector<std::int64_t>& ids : documents) {
    const auto length = static_cast<std::int64_t>(ids.size());
    add({&length, 1});
    add(ids);
  }
  return digest.finish();
}

}  // namespace attention_plasticity
