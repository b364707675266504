#include "attention_plasticity/results/csv_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>
#include <utility>

#include "attention_plasticity/base/printable.h"

namespace attention_plasticity {

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 18;

}  // namespace

CsvText::CsvText(std::span<const std::string_view> columns, std::function<void(std::string_view)> sink)
    : sink_(std::move(sink)) {
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
