#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attention_plasticity {

/// A document, and where it stands, for messages: a file, a line `a.jsonl:3`, or a row `a.parquet row 2`.
struct Text {
  std::string text;  ///< UTF-8; lines end in \n
  std::string place;
};

struct TextOptions {
  std::string field = "text";                                 ///< of .jsonl; column of Parquet
  std::optional<std::size_t> max_documents = {};              ///< how many are read; none: all
  std::uint64_t most_text_bytes = std::uint64_t{256} << 20U;  ///< of a .txt file, a line of .jsonl, a row of Parquet
  std::uint64_t most_bytes = std::uint64_t{4} << 30U;         ///< of all texts together, in memory
};

/// The documents of a source, in its order: a .txt file (one document), a .jsonl or Parquet file (one document a row,
/// in the field), a folder of such files at any depth in the order of their names, or `sample`, the pages of the
/// project's documentation (capture/sample_texts.h), where there is no file of that name.
///
/// Throws Error(input), which names the place, for what is missing, empty, no text or beyond the limits: a small
/// Parquet file may hold terabytes of one repeated text. Whatever follows the last document that is asked for is not
/// looked at.
std::vector<Text> read_texts(const std::string& source, const TextOptions& options = {});

}  // namespace attention_plasticity
