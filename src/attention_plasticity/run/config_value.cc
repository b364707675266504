#include "attention_plasticity/run/config_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/utf8.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

// Bounds the memory that a range such as 0-2000000000 would take; no model comes near.
constexpr int max_index = 9999;

[[noreturn]] void refuse(std::string_view text, std::string_view problem) {
  throw Error(ErrorKind::usage, fmt::format("{} {}", shown_text(text), problem));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_decimal(std::string_view digits) {
  return !digits.empty() && std::ranges::all_of(digits, is_digit) && (digits.size() == 1 || digits.front() != '0');
}

// None when it does not fit.
std::optional<std::uint64_t> unsigned_value(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
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
  const IndexRange range{static_cast<int>(config_integer(first, 0, max_index)),
                         static_cast<int>(config_integer(last, 0, max_index))};
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

// 12.5MiB taken apart: "12", "5" and 2^20.
struct Size {
  std::string_view whole;
  std::string_view fraction;
  std::uint64_t unit_bytes;
};

std::string_view leading_digits(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
}

// None when it is no size: no digits, an unknown unit, a fraction of a byte.
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

// Rounded: 0.0157 of a million is 15700, and the product of the doubles falls short of it.
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

}  // namespace

std::string config_plain_text(std::string_view text, bool may_be_empty) {
  if (text.empty() && !may_be_empty) throw Error(ErrorKind::usage, "must not be empty");
  if (!is_utf8(text)) refuse(text, "is not UTF-8 text");
  if (text.find('\0') != std::string_view::npos) refuse(text, "has a NUL character in it");
  return std::string(text);
}

std::uint64_t config_integer(std::string_view text, std::uint64_t low, std::uint64_t high) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = negative ? text.substr(1) : text;
  if (!is_decimal(digits)) refuse(text, "is not an integer in plain decimal");
  const std::optional<std::uint64_t> value = unsigned_value(digits);
  if (negative || !value || *value < low || *value > high) {
    refuse(text, fmt::format("is out of range; it must lie between {} and {}", low, high));
  }
  return *value;
}

double config_share(std::string_view text, bool one_included) {
  const std::optional<double> value = finite_number(text);
  const bool inside = value && *value > 0 && (one_included ? *value <= 1 : *value < 1);
  if (!inside) {
    refuse(text, one_included ? "is out of range; it must be greater than 0 and at most 1"
                              : "is out of range; it must lie between 0 and 1 (exclusive)");
  }
  return *value;
}

double config_number(std::string_view text) {
  const std::optional<double> value = finite_number(text);
  if (!value) refuse(text, "is out of range");
  return *value;
}

double config_positive_number(std::string_view text) {
  const std::optional<double> value = finite_number(text);
  if (!value || *value <= 0) refuse(text, "is out of range; it must be greater than 0");
  return *value;
}

std::string config_mapping(std::string_view text) {
  try {
    return parse_json_object<Json>(text, {}).dump();
  } catch (const Error&) {
    refuse(text, "is not a JSON object such as {\"rope_type\": \"linear\", \"factor\": 4}");
  }
}

std::optional<bool> boolean_word(std::string_view text) {
  const std::string word = lower_case(text);
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  if (word == "false" || word == "no" || word == "off" || word == "0") return false;
  return std::nullopt;
}

bool config_boolean(std::string_view text) {
  if (const auto value = boolean_word(text)) return *value;
  refuse(text, "is not a boolean; write true or false");
}

std::size_t config_word(std::string_view text, std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::optional<std::string> meant = nearest_name(text, words);
  refuse(text, fmt::format("is not one of {}{}", fmt::join(words, ", "),
                           meant ? fmt::format("; did you mean {}?", *meant) : std::string()));
}

std::vector<int> config_indices(std::string_view text) {
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

std::uint64_t config_bytes(std::string_view text) {
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

}  // namespace attention_plasticity
