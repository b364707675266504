#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace attention_plasticity {

/// A field of a table: whole numbers keep all their digits; NaN is an empty field.
using CsvValue = std::variant<std::int64_t, std::uint64_t, double>;

/// Builds a CSV text (RFC 4180, LF), whole or piece by piece. Numbers are written in the shortest form that reads back
/// to the same double (std::to_chars), so that equal results have equal bytes. A value that does not exist, such as the
/// mean of no pairs, is an empty field: CSV readers agree on that, but not on how to spell NaN.
class CsvText {
 public:
  /// Column names must not need quotes. `sink`, if there is one, takes the text piece by piece.
  explicit CsvText(std::span<const std::string_view> columns, std::function<void(std::string_view)> sink = {});

  /// Appends the next field of the row.
  void add(const CsvValue& value);
  /// The same for text, made printable (base/printable.h) and in quotes where it holds a comma or a quote. Text that
  /// begins with = + - or @, which spreadsheets take for a formula, gets an apostrophe before it.
  void add_text(std::string_view text);
  void end_row();
  /// The whole text, where there is no sink.
  std::string text() && { return std::move(text_); }
  /// Gives the sink the rest of the text. To be called after the last row.
  void finish();

 private:
  void begin_field();

  std::function<void(std::string_view)> sink_;
  std::string text_;      // not yet given to the sink
  bool at_start_ = true;  // true at the start of a row
};

}  // namespace attention_plasticity
