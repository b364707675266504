#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/base/head_number.h"

namespace attention_plasticity {

/// A CSV file (RFC 4180) as text: a header, and rows with as many fields as the header.
struct CsvTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> lines = {};  ///< the line of the file on which each row begins, from 1
  std::string file = {};                ///< path of the file, for messages

  std::optional<std::size_t> find(std::string_view column) const;

  /// The finite number in a field; NaN when the field is empty or `nan` in upper or lower case. Surrounding blanks do
  /// not count. Throws Error(input), naming line and column, for other text.
  double number(std::size_t row, std::size_t column) const;

  /// The index in a field, such as a layer or a head: a whole number from 0 to `most`. Throws Error(input) for other
  /// text.
  int index(std::size_t row, std::size_t column, int most = most_head_number) const;

  /// The whole number in a field, such as a bucket: from 0 to 2^63 - 1, to the last digit. Throws Error(input) for
  /// other text.
  std::int64_t whole_number(std::size_t row, std::size_t column) const;
};

/// Fields may be quoted; quotes inside them are doubled, and line breaks inside them are kept. Lines end in LF or CRLF;
/// the last line may have no line break. Empty lines and a byte order mark are skipped. Blanks around column names are
/// removed. Throws Error(input), naming the line, for a missing header, a repeated column, a row with more or fewer
/// fields than the header, a quote that is not closed, and text after a closing quote.
CsvTable parse_csv(std::string_view text, std::string file = {});
CsvTable read_csv(const std::filesystem::path& file);

/// The finite number that a text spells; surrounding blanks do not count. None for other text.
std::optional<double> finite_number(std::string_view text);

}  // namespace attention_plasticity
