#include "attention_plasticity/settings/value_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "attention_plasticity/base/head_number.h"
#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/utf8.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

// Bounds the memory that a range such as 0-2000000000 would take.
constexpr int max_index = most_head_number;
constexpr std::uint64_t max_count = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void refuse(std::string_view text, std::string_view problem) {
  throw Error(ErrorKind::usage, fmt::format("{} {}", shown_text(text), problem));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_decimal(std::string_view digits) {
  return !digits.empty() && std::ranges::all_of(digits, is_digit) && (digits.size() == 1 || digits.front() != '0');
}

// None when it does not fit into 64 bits.
std::optional<std::uint64_t> unsigned_value(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::uint64_t integer_value(std::string_view text, std::uint64_t low, std::uint64_t high) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = negative ? text.substr(1) : text;
  if (!is_decimal(digits)) refuse(text, "is not an integer in plain decimal");
  const std::optional<std::uint64_t> value = unsigned_value(digits);
  if (negative || !value || *value < low || *value > high) {
    refuse(text, fmt::format("is out of range; it must lie between {} and {}", low, high));
  }
  return *value;
}

struct IndexRange {
  int first;
  int last;
};

IndexRange index_range(std::string_view text) {
  const std::size_t dash = text.find('-', 1);
  const std::string_view first = trimmed_text(text.substr(0, dash));
  const std::string_view last = dash == std::string_view::npos ? first : trimmed_text(text.substr(dash + 1));
  if (!is_decimal(first) || !is_decimal(last)) refuse(text, "is neither an index nor a range such as 0-3");
  const IndexRange range{static_cast<int>(integer_value(first, 0, max_index)),
                         static_cast<int>(integer_value(last, 0, max_index))};
  if (range.first > range.last) refuse(text, fmt::format("is reversed; write {}-{}", range.last, range.first));
  return range;
}

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::array size_units{
    SizeUnit{"", 1},
    SizeUnit{"b", 1},
    SizeUnit{"kb", 1'000},
    SizeUnit{"mb", 1'000'000},
    SizeUnit{"gb", 1'000'000'000},
    SizeUnit{"tb", 1'000'000'000'000},
    SizeUnit{"kib", std::uint64_t{1} << 10},
    SizeUnit{"mib", std::uint64_t{1} << 20},
    SizeUnit{"gib", std::uint64_t{1} << 30},
    SizeUnit{"tib", std::uint64_t{1} << 40},
};

// The parts of 12.5MiB: "12", "5" and 2^20.
struct Size {
  std::string_view whole;
  std::string_view fraction;
  std::uint64_t unit_bytes;
};

std::string_view leading_digits(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
}

// None without digits, with an unknown unit, and for a fraction of a byte.
std::optional<Size> size_in_units(std::string_view text) {
  Size size{leading_digits(text), {}, 1};
  std::string_view rest = text.substr(size.whole.size());
  const bool has_point = rest.starts_with('.');
  if (has_point) {
    size.fraction = leading_digits(rest.substr(1));
    rest.remove_prefix(1 + size.fraction.size());
  }
  const auto unit = std::ranges::find(size_units, lower_case(trimmed_text(rest)), &SizeUnit::name);
  if (size.whole.empty() || has_point == size.fraction.empty() || unit == size_units.end()) return std::nullopt;
  if (has_point && unit->bytes == 1) return std::nullopt;
  size.unit_bytes = unit->bytes;
  return size;
}

// Rounded, since 0.0157 * 1e6 is slightly less than 15700 in double.
std::uint64_t fraction_of(std::uint64_t unit_bytes, std::string_view fraction_digits) {
  const std::string text = fmt::format("0.{}", fraction_digits);
  double share = 0;
  std::from_chars(text.data(), text.data() + text.size(), share);
  return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(unit_bytes)));
}

// None when it is too large or too small for a double.
std::optional<double> finite_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) refuse(text, "is not a number");
  if (error != std::errc()) return std::nullopt;
  if (!std::isfinite(value)) refuse(text, "is not a finite number");
  return value;
}

std::vector<int> indices_value(std::string_view text) {
  if (trimmed_text(text).empty()) throw Error(ErrorKind::usage, "selects nothing; leave it out to select all");
  std::array<bool, max_index + 1> selected{};
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const IndexRange range = index_range(trimmed_text(text.substr(begin, end - begin)));
    std::fill(selected.begin() + range.first, selected.begin() + range.last + 1, true);
    begin = end + 1;
  }
  std::vector<int> indices;
  for (int i = 0; i <= max_index; ++i) {
    if (selected[static_cast<std::size_t>(i)]) indices.push_back(i);
  }
  return indices;
}

std::uint64_t bytes_value(std::string_view text) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  const bool negative = text.starts_with('-');
  const std::optional<Size> size = size_in_units(negative ? text.substr(1) : text);
  if (!size) refuse(text, "is not a size; write bytes, or a number with KiB, MiB, GiB, TiB, KB, MB, GB or TB");
  const std::optional<std::uint64_t> units = unsigned_value(size->whole);
  const bool fits = !negative && units && *units <= most / size->unit_bytes;
  const std::uint64_t bytes = fits ? *units * size->unit_bytes + fraction_of(size->unit_bytes, size->fraction) : 0;
  if (bytes < 1 || bytes > most) refuse(text, fmt::format("is out of range; it must lie between 1 and {} bytes", most));
  return bytes;
}

// fmt prints the shortest digits that read back to the same double.
template <class T>
std::string printed(const T& value) {
  return fmt::format("{}", value);
}

ValueKind<double> numbers(bool (*is_in_range)(double), std::string range) {
  return {ValueType::number, "X",
          [is_in_range, range = std::move(range)](const std::string& text) {
            const std::optional<double> value = finite_number(text);
            if (!value || !is_in_range(*value)) refuse(text, "is out of range" + range);
            return value;
          },
          printed<double>};
}

ValueKind<std::string> texts(bool may_be_empty) {
  return {ValueType::text, "TEXT",
          [may_be_empty](const std::string& text) -> std::optional<std::string> {
            if (text.empty() && !may_be_empty) throw Error(ErrorKind::usage, "must not be empty");
            if (!is_utf8(text)) refuse(text, "is not UTF-8 text");
            if (text.find('\0') != std::string::npos) refuse(text, "has a NUL character in it");
            return text;
          },
          printed<std::string>};
}

// Only a shell expands ~, and not in a YAML file, between quotes or after --flag=. A folder of that name is hardly ever
// meant.
void refuse_home_folder(const std::string& text) {
  if (!text.starts_with('~')) return;
  const std::size_t end = std::min(text.find('/'), text.size());
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; };
  if ((end == text.size() && end > 1) ||
      !std::all_of(text.begin() + 1, text.begin() + static_cast<long>(end), is_name)) {
    return;
  }
  refuse(text, "begins with ~, which only a shell expands; write the whole path, such as /home/me/dump");
}

// The names in a text with commas between them.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string name = text.substr(begin, end - begin);
    if (name.empty()) throw Error(ErrorKind::usage, fmt::format("{} holds an empty name", shown_text(text)));
    names.push_back(std::move(name));
    begin = end + 1;
  }
  return names;
}

}  // namespace

std::optional<bool> boolean_word(std::string_view text) {
  const std::string word = lower_case(text);
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  if (word == "false" || word == "no" || word == "off" || word == "0") return false;
  return std::nullopt;
}

std::size_t word_index(std::string_view text, std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::optional<std::string> meant = nearest_name(text, words);
  refuse(text, fmt::format("is not one of {}{}", fmt::join(words, ", "),
                           meant ? fmt::format("; did you mean {}?", *meant) : std::string()));
}

namespace values {

ValueKind<std::uint64_t> integer(std::uint64_t low, std::uint64_t high) {
  return {ValueType::integer, "N", [low, high](const std::string& text) { return integer_value(text, low, high); },
          printed<std::uint64_t>};
}

ValueKind<std::uint64_t> count(std::uint64_t least) { return integer(least, max_count); }

ValueKind<std::uint64_t> limit() {
  ValueKind<std::uint64_t> kind = count(0);
  kind.parse = [](const std::string& text) {
    const std::uint64_t value = integer_value(text, 0, max_count);
    return value == 0 ? std::nullopt : std::optional(value);
  };
  kind.null_is_value = true;
  return kind;
}

ValueKind<std::uint64_t> seed_number() { return integer(0, std::numeric_limits<std::uint64_t>::max()); }

ValueKind<double> number() {
  return numbers([](double) { return true; }, "");
}

ValueKind<double> positive_number() {
  return numbers([](double x) { return x > 0; }, "; it must be greater than 0");
}

ValueKind<double> share(bool one_included) {
  if (one_included) {
    return numbers([](double x) { return x > 0 && x <= 1; }, "; it must be greater than 0 and at most 1");
  }
  return numbers([](double x) { return x > 0 && x < 1; }, "; it must lie between 0 and 1 (exclusive)");
}

ValueKind<bool> boolean() {
  return {ValueType::boolean, "",
          [](const std::string& text) {
            const std::optional<bool> value = boolean_word(text);
            if (!value) refuse(text, "is not a boolean; write true or false");
            return value;
          },
          printed<bool>};
}

ValueKind<std::string> text() { return checked(texts(false), refuse_home_folder); }
ValueKind<std::string> text_or_empty() { return texts(true); }

ValueKind<std::string> any_text(std::string value_name) {
  return checked(ValueKind<std::string>{ValueType::text, std::move(value_name),
                                        [](const std::string& text) { return text; }, printed<std::string>},
                 refuse_home_folder);
}

ValueKind<std::vector<std::string>> names() {
  return {ValueType::text, "LIST", names_in,
          [](const std::vector<std::string>& list) { return fmt::format("{}", fmt::join(list, ",")); }};
}

ValueKind<std::size_t> word(std::vector<std::string_view> words) {
  return {ValueType::word, fmt::format("{}", fmt::join(words, "|")),
          [words](const std::string& text) { return word_index(text, words); },
          [words](std::size_t index) { return std::string(words.at(index)); }};
}

ValueKind<std::vector<int>> indices() {
  return {ValueType::indices, "LIST",
          [](const std::string& text) { return text == "all" ? std::nullopt : std::optional(indices_value(text)); },
          [](const std::vector<int>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }};
}

ValueKind<std::uint64_t> size_in_bytes() { return {ValueType::size, "SIZE", bytes_value, printed<std::uint64_t>}; }

ValueKind<std::string> json_object() {
  return {ValueType::mapping, "JSON",
          [](const std::string& text) {
            try {
              return parse_json_object<Json>(text, {}).dump();
            } catch (const Error&) {
              refuse(text, "is not a JSON object such as {\"rope_type\": \"linear\", \"factor\": 4}");
            }
          },
          printed<std::string>};
}

}  // namespace values
}  // namespace attention_plasticity
