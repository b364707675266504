#include "attention_plasticity/dump/column_rules.h"

#include <fmt/format.h>

#include <cmath>

namespace attention_plasticity {
namespace {

std::int64_t to_count(const Number& number) {
  if (std::holds_alternative<std::monostate>(number)) throw BadValue("is null");
  if (const auto* large = std::get_if<std::uint64_t>(&number)) {
    throw BadValue(fmt::format("is {}, beyond 2^63 - 1", *large));
  }
  const auto* count = std::get_if<std::int64_t>(&number);
  if (count == nullptr) throw BadValue("is no integer");
  if (*count < 0) throw BadValue(fmt::format("is negative ({})", *count));
  return *count;
}

double to_real(const Number& number) {
  if (const auto* integer = std::get_if<std::int64_t>(&number)) return static_cast<double>(*integer);
  if (const auto* large = std::get_if<std::uint64_t>(&number)) return static_cast<double>(*large);
  if (const auto* real = std::get_if<double>(&number)) return *real;
  return std::nan("");
}

}  // namespace

std::int64_t to_bucket(const Number& number) { return to_count(number); }

std::uint64_t to_example(const Number& number) { return static_cast<std::uint64_t>(to_count(number)); }

double to_position(const Number& number) {
  if (std::holds_alternative<std::monostate>(number)) throw BadValue("is null");
  const double position = to_real(number);
  if (std::isnan(position)) throw BadValue("is NaN");
  if (position < 0) throw BadValue(fmt::format("is negative ({})", position));
  if (std::isinf(position)) throw BadValue("is infinite");
  return position;
}

std::optional<double> to_window(const Number& number) {
  const double window = std::floor(to_real(number));
  if (!(window >= 1) || std::isinf(window)) return std::nullopt;
  return window;
}

}  // namespace attention_plasticity
