#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attention_plasticity {

/// A CSV file (RFC 4180) as text: a header and rows of as many fields.
struct CsvTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> lines = {};  ///< of the file, on which each row begins; the first is line 1
  std::string file = {};                ///< where it came from, for messages

  std::optional<std::size_t> find(std::string_view column) const;

  /// The finite number in a field, NaN where it is empty or says nan in any case. Blanks around it do not count. Throws
  /// Error(input), naming line and column, for any other text.
  double number(std::size_t row, std::size_t column) const;

  /// A field that counts something from 0: a layer or a head, below 10,000. Throws Error(input) for anything else.
  int index(std::size_t row, std::size_t column) const;
};

/// Fields may be quoted, with quotes doubled inside and line breaks kept; lines end in LF or CRLF, the last one may go
/// without; empty lines are skipped; a byte order mark is skipped. Names of columns lose blanks around them. Throws
/// Error(input), naming the line, for no header, a repeated column, a row with more or fewer fields than the header, a
/// quote that is not closed, and text after a closing quote.
CsvTable parse_csv(std::string_view text, std::string file = {});
CsvTable read_csv(const std::filesystem::path& file);

/// The finite number that a text is, blanks around it aside; none if it is anything else.
std::optional<double> finite_number(std::string_view text);

}  // namespace attention_plasticity
