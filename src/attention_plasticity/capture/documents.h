#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attention_plasticity {

/// What becomes of texts that are longer than a document may be.
enum class LongTexts { cut, chunk };

/// Part of a text's tokens.
struct TokenRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const TokenRange&, const TokenRange&) = default;
};

/// The documents of a text of `tokens` tokens: its first `max_length` tokens, or with `chunk` as many documents of
/// `max_length` tokens as it has and a shorter one of the rest, if that is longer than half of `max_length`. A text
/// that is not too long is one document. `max_length` must not be 0. Without tokens there is no document.
std::vector<TokenRange> documents_of(std::size_t tokens, std::size_t max_length, LongTexts long_texts);

/// A digest of the token ids of all documents, in their order: SHA-256 of the length of each document and its ids, as
/// little-endian integers of 64 bits. Equal for equal documents only.
std::string documents_digest(std::span<const std::vector<std::int64_t>> documents);

}  // namespace attention_plasticity
