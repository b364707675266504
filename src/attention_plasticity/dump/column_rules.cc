#include "attention_plasticity/dump/column_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace attention_plasticity {
namespace {

std::int64_t to_count(const Number& number) {
  if (std::holds_alternative<std::monostate>(number)) throw BadValue("is null");
  if (const auto* large = std::get_if<std::uint64_t>(&number)) {
    throw BadValue(fmt::format("is {}, beyond 2^63 - 1", *large));
  }
  const auto* count = std::get_if<std::int64_t>(&number);
  if (count == nullptr) throw BadValue("is not an integer");
  if (*count < 0) throw BadValue(fmt::format("is negative ({})", *count));
  return *count;
}

double to_real(const Number& number) {
  if (const auto* integer = std::get_if<std::int64_t>(&number)) return static_cast<double>(*integer);
  if (const auto* large = std::get_if<std::uint64_t>(&number)) return static_cast<double>(*large);
  if (const auto* real = std::get_if<double>(&number)) return *real;
  return std::nan("");
}

/// Whether a number has a bit from `bit` on: is negative, or at least 2^bit. Without a branch per number, because
/// nearly always none has.
bool any_from(unsigned bit, std::span<const std::int64_t> numbers) {
  std::uint64_t bits = 0;
  for (const std::int64_t number : numbers) bits |= static_cast<std::uint64_t>(number);
  return bits >> bit != 0;
}

constexpr unsigned position_bits = 53;
constexpr double last_position = 9007199254740992.0;  // 2^53

/// Appends integers from 0 to 2^bits - 1, if all are.
template <class Count>
bool append_counts(const NumberBatch& numbers, CountedVector<Count>& counts, unsigned bits = 63) {
  const auto integers = numbers.integers();
  if (!integers || any_from(bits, *integers)) return false;
  counts.insert(counts.end(), integers->begin(), integers->end());
  return true;
}

/// True if all values are the same, bit for bit.
template <class T>
bool repeat(std::span<const T> values) {
  return !values.empty() && std::memcmp(values.data(), values.data() + 1, (values.size() - 1) * sizeof(T)) == 0;
}

}  // namespace

std::size_t NumberBatch::size() const {
  if (const auto* nulls = std::get_if<Nulls>(&numbers_)) return nulls->count;
  if (const auto integers = this->integers()) return integers->size();
  if (const auto reals = this->reals()) return reals->size();
  return std::get<std::span<const Number>>(numbers_).size();
}

Number NumberBatch::operator[](std::size_t i) const {
  if (std::holds_alternative<Nulls>(numbers_)) return {};
  if (const auto integers = this->integers()) return (*integers)[i];
  if (const auto reals = this->reals()) return (*reals)[i];
  return std::get<std::span<const Number>>(numbers_)[i];
}

std::optional<std::span<const std::int64_t>> NumberBatch::integers() const {
  const auto* integers = std::get_if<std::span<const std::int64_t>>(&numbers_);
  return integers != nullptr ? std::optional(*integers) : std::nullopt;
}

std::optional<std::span<const double>> NumberBatch::reals() const {
  const auto* reals = std::get_if<std::span<const double>>(&numbers_);
  return reals != nullptr ? std::optional(*reals) : std::nullopt;
}

bool NumberBatch::is_constant() const {
  if (const auto* nulls = std::get_if<Nulls>(&numbers_)) return nulls->count > 0;
  if (const auto integers = this->integers()) return repeat(*integers);
  if (const auto reals = this->reals()) return repeat(*reals);
  return false;
}

bool append_buckets(const NumberBatch& numbers, CountedVector<std::int64_t>& buckets) {
  return append_counts(numbers, buckets);
}

bool append_examples(const NumberBatch& numbers, CountedVector<std::uint64_t>& examples) {
  return append_counts(numbers, examples);
}

bool append_positions(const NumberBatch& numbers, CountedVector<double>& positions) {
  if (append_counts(numbers, positions, position_bits)) return true;
  const auto reals = numbers.reals();
  const auto is_allowed = [](double real) { return real >= 0 && real <= last_position; };
  if (!reals || !std::ranges::all_of(*reals, is_allowed)) return false;
  positions.insert(positions.end(), reals->begin(), reals->end());
  return true;
}

std::int64_t to_bucket(const Number& number) { return to_count(number); }

std::uint64_t to_example(const Number& number) { return static_cast<std::uint64_t>(to_count(number)); }

double to_position(const Number& number) {
  if (std::holds_alternative<std::monostate>(number)) throw BadValue("is null");
  const double position = to_real(number);
  if (std::isnan(position)) throw BadValue("is NaN");
  if (position < 0) throw BadValue(fmt::format("is negative ({})", position));
  if (std::isinf(position)) throw BadValue("is infinite");
  if (const auto* large = std::get_if<std::uint64_t>(&number))
    throw BadValue(fmt::format("is {}, beyond 2^53", *large));
  const auto* integer = std::get_if<std::int64_t>(&number);
  if (integer != nullptr && *integer > static_cast<std::int64_t>(last_position)) {
    throw BadValue(fmt::format("is {}, beyond 2^53", *integer));
  }
  if (position > last_position) throw BadValue(fmt::format("is {}, beyond 2^53", position));
  return position;
}

std::optional<double> to_window(const Number& number) {
  const double window = std::floor(to_real(number));
  if (!(window >= 1) || std::isinf(window)) return std::nullopt;
  return window;
}

}  // namespace attention_plasticity
