#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
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

/// Parses a table. Fields may be quoted; quotes inside them are doubled, and line breaks inside them are kept. Lines
/// end in LF or CRLF; the last line may have no line break. Empty lines and a byte order mark are skipped. Blanks
/// around column names are removed. Throws Error(input), naming the line, for a missing header, a repeated column, a
/// row with more or fewer fields than the header, a quote that is not closed, and text after a closing quote.
CsvTable parse_csv(std::string_view text, std::string file = {});

/// Reads a file as `parse_csv` does. Throws Error(input) also when it does not exist or is longer than a table may be.
CsvTable read_csv(const std::filesystem::path& file);

/// The finite number that a text spells; surrounding blanks do not count. None for other text.
std::optional<double> finite_number(std::string_view text);

/// Takes the next bytes of a file.
using Sink = std::function<void(std::string_view)>;

/// A field of a table: whole numbers keep all their digits; NaN is an empty field.
using CsvValue = std::variant<std::int64_t, std::uint64_t, double>;

/// Builds a CSV text (RFC 4180, LF), whole or piece by piece. Numbers are written in the shortest form that reads back
/// to the same double (std::to_chars), so that equal results have equal bytes. A value that does not exist, such as the
/// mean of no pairs, is an empty field: CSV readers agree on that, but not on how to spell NaN.
class CsvText {
 public:
  /// Column names must not need quotes. `sink`, if there is one, takes the text piece by piece.
  explicit CsvText(std::span<const std::string_view> columns, Sink sink = {});

  /// Appends the next field of the row.
  void add(const CsvValue& value);
  /// Appends a text as the next field, made printable (base/printable.h) and in quotes if it holds a comma or a quote.
  /// Text that begins with = + - or @, which spreadsheets take for a formula, gets an apostrophe before it.
  void add_text(std::string_view text);
  void end_row();
  /// The whole text, if there is no sink.
  std::string text() && { return std::move(text_); }
  /// Gives the sink the rest of the text. Call it once, after the last row.
  void finish();

 private:
  void begin_field();

  Sink sink_;
  std::string text_;      // not yet given to the sink
  bool at_start_ = true;  // true at the start of a row
};

}  // namespace attention_plasticity
