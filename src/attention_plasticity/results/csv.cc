#include "attention_plasticity/results/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 18;

bool says_nan(std::string_view text) { return text.size() == 3 && lower_case(text) == "nan"; }

// Reads one record after another. A line break ends a record unless it is inside quotes.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  bool at_end() const { return at_ == text_.size(); }
  std::size_t line() const { return line_; }

  std::vector<std::string> record() {
    std::vector<std::string> fields;
    do fields.push_back(field());
    while (take(','));
    if (!at_end()) take_line_break();
    return fields;
  }

 private:
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool at_line_break() const {
    return text_[at_] == '\n' || (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n');
  }

  void take_line_break() {
    take('\r');
    take('\n');
    ++line_;
  }

  std::string field() {
    if (take('"')) return quoted();
    const std::size_t begin = at_;
    while (!at_end() && text_[at_] != ',' && !at_line_break()) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted() {
    const std::size_t opened = line_;
    std::string field;
    while (!at_end()) {
      const char c = text_[at_++];
      if (c != '"') {
        if (c == '\n') ++line_;
        field += c;
      } else if (take('"')) {
        field += '"';
      } else if (at_end() || text_[at_] == ',' || at_line_break()) {
        return field;
      } else {
        throw Error(ErrorKind::input,
                    fmt::format("line {}: text after a closing quote; double the quotes inside", line_), file_);
      }
    }
    throw Error(ErrorKind::input, fmt::format("line {}: a quote opens here and is never closed", opened), file_);
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

bool is_empty_line(const std::vector<std::string>& record) { return record.size() == 1 && record.front().empty(); }

void take_header(CsvTable& table, const std::vector<std::string>& record, std::size_t line) {
  std::set<std::string_view> seen;
  for (const std::string& field : record) {
    const std::string_view name = trimmed_text(field);
    // pandas leaves the name of its index empty.
    if (!name.empty() && !seen.insert(name).second) {
      throw Error(ErrorKind::input, fmt::format("line {}: column {} occurs twice", line, quoted_text(name)),
                  table.file);
    }
    table.columns.emplace_back(name);
  }
}

[[noreturn]] void refuse_field(const CsvTable& table, std::size_t row, std::size_t column, std::string_view should_be) {
  throw Error(ErrorKind::input,
              fmt::format("line {}, column {}: {} is not {}", table.lines[row], quoted_text(table.columns[column]),
                          quoted_text(table.rows[row][column]), should_be),
              table.file);
}

}  // namespace

std::optional<double> finite_number(std::string_view text) {
  text = trimmed_text(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::size_t> CsvTable::find(std::string_view column) const {
  const auto found = std::ranges::find(columns, column);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

double CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string_view text = trimmed_text(rows[row][column]);
  if (text.empty() || says_nan(text)) return std::numeric_limits<double>::quiet_NaN();
  const std::optional<double> value = finite_number(text);
  if (!value) refuse_field(*this, row, column, "a finite number");
  return *value;
}

int CsvTable::index(std::size_t row, std::size_t column, int most) const {
  const std::optional<double> value = finite_number(rows[row][column]);
  // 3.0 is an index too: pandas writes whole numbers like this when a value of the column is missing.
  if (!value || *value < 0 || *value > most || *value != std::floor(*value)) {
    refuse_field(*this, row, column, fmt::format("a whole number from 0 to {}", most));
  }
  return static_cast<int>(*value);
}

std::int64_t CsvTable::whole_number(std::size_t row, std::size_t column) const {
  const std::string_view text = trimmed_text(rows[row][column]);
  std::int64_t digits = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), digits);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && digits >= 0) return digits;
  // 3.0 is one too, as above, where a double holds all whole numbers.
  constexpr double most_exact = 9007199254740992.0;
  const std::optional<double> value = finite_number(text);
  if (!value || *value < 0 || *value > most_exact || *value != std::floor(*value)) {
    refuse_field(*this, row, column, "a whole number from 0 to 2^63 - 1");
  }
  return static_cast<std::int64_t>(*value);
}

CsvTable parse_csv(std::string_view text, std::string file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  CsvTable table;
  table.file = std::move(file);
  CsvReader reader(text, table.file);
  while (!reader.at_end()) {
    const std::size_t line = reader.line();
    std::vector<std::string> record = reader.record();
    if (table.columns.empty()) {
      if (!is_empty_line(record)) take_header(table, record, line);
      continue;
    }
    if (is_empty_line(record) && table.columns.size() > 1) continue;
    if (record.size() != table.columns.size()) {
      throw Error(ErrorKind::input,
                  fmt::format("line {}: {} fields where the header has {}", line, record.size(), table.columns.size()),
                  table.file);
    }
    table.rows.push_back(std::move(record));
    table.lines.push_back(line);
  }
  if (table.columns.empty()) throw Error(ErrorKind::input, "is empty; a table with a header is needed", table.file);
  return table;
}

CsvTable read_csv(const std::filesystem::path& file) {
  return parse_csv(read_text_file(file, most_table_bytes), file.string());
}

CsvText::CsvText(std::span<const std::string_view> columns, Sink sink) : sink_(std::move(sink)) {
  for (const std::string_view column : columns) {
    if (!text_.empty()) text_ += ',';
    text_ += column;
  }
  text_ += '\n';
}

void CsvText::begin_field() {
  if (!at_start_) text_ += ',';
  at_start_ = false;
}

void CsvText::add_text(std::string_view text) {
  begin_field();
  std::string field = printable_text(text);
  if (!field.empty() && std::string_view("=+-@").find(field.front()) != std::string_view::npos)
    field.insert(0, 1, '\'');
  if (field.find_first_of(",\"") == std::string::npos) {
    text_ += field;
    return;
  }
  text_ += '"';
  for (const char c : field) text_ += c == '"' ? "\"\"" : std::string(1, c);
  text_ += '"';
}

void CsvText::add(const CsvValue& value) {
  begin_field();
  std::visit(
      [this](auto number) {
        if constexpr (std::is_floating_point_v<decltype(number)>) {
          if (std::isnan(number)) return;
        }
        std::array<char, 32> digits;
        const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
        text_.append(digits.data(), written.ptr);
      },
      value);
}

void CsvText::end_row() {
  text_ += '\n';
  at_start_ = true;
  if (sink_ && text_.size() >= piece_bytes) finish();
}

void CsvText::finish() {
  sink_(text_);
  text_.clear();
}

}  // namespace attention_plasticity
