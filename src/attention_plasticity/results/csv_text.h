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

/// Writes a CSV text (RFC 4180, LF), piece by piece. Numbers are written in the shortest form that reads back to the
/// same double (std::to_chars), so that equal results have equal bytes. A value that does not exist, such as the mean
/// of no pairs, is an empty field: CSV readers agree on that, but not on how to spell NaN.
class CsvText {
 public:
  /// `sink` takes the next bytes. Column names must not need quotes.
  CsvText(std::span<const std::string_view> columns, std::function<void(std::string_view)> sink);

  /// Appends the next field of the row.
  void add(const CsvValue& value);
  void end_row();
  /// To be called after the last row.
  void finish();

 private:
  std::function<void(std::string_view)> sink_;
  std::string text_;      // not yet given to the sink
  bool at_start_ = true;  // true at the start of a row
};

}  // namespace attention_plasticity
