#include "attention_plasticity/dump/head_columns.h"

#include <fmt/format.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "attention_plasticity/base/finite.h"
#include "attention_plasticity/dump/column_decoder.h"

namespace attention_plasticity {
namespace {

bool is_integer(const parquet::ColumnDescriptor& leaf) {
  if (leaf.physical_type() != parquet::Type::INT32 && leaf.physical_type() != parquet::Type::INT64) return false;
  const auto& logical = leaf.logical_type();
  return !logical || logical->is_none() || logical->is_int() || logical->is_null();
}

bool is_real(const parquet::ColumnDescriptor& leaf) {
  if (leaf.physical_type() == parquet::Type::FLOAT || leaf.physical_type() == parquet::Type::DOUBLE) return true;
  return leaf.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY && leaf.type_length() == 2 &&
         leaf.logical_type() && leaf.logical_type()->is_float16();
}

bool is_text(const parquet::ColumnDescriptor& leaf) {
  if (leaf.physical_type() != parquet::Type::BYTE_ARRAY) return false;
  const auto& logical = leaf.logical_type();
  return logical && logical->is_string();
}

}  // namespace

std::string_view wanted(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::integer:
      return "an integer";
    case ColumnKind::number:
      return "an integer, half, float or double";
    case ColumnKind::vector:
      return "a list of half, float or double";
    case ColumnKind::text:
      return "text";
  }
  return "";
}

std::string describe(const parquet::ColumnDescriptor& leaf) {
  const auto& logical = leaf.logical_type();
  return fmt::format("{}{}{}", leaf.max_repetition_level() > 0 ? "a list of " : "",
                     parquet::TypeToString(leaf.physical_type()),
                     logical && !logical->is_none() ? fmt::format(" ({})", logical->ToString()) : "");
}

bool allows(ColumnKind kind, const parquet::ColumnDescriptor& leaf, bool is_primitive) {
  switch (kind) {
    case ColumnKind::integer:
      return is_primitive && leaf.max_repetition_level() == 0 && is_integer(leaf);
    case ColumnKind::number:
      return is_primitive && leaf.max_repetition_level() == 0 && (is_integer(leaf) || is_real(leaf));
    case ColumnKind::vector:
      return is_real(leaf) && is_list_of_primitives(leaf);
    case ColumnKind::text:
      return is_primitive && leaf.max_repetition_level() == 0 && is_text(leaf);
  }
  return false;
}

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

/// True if a number has a bit from `bit` on: is negative, or at least 2^bit. Without a branch per number, because
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
bool append_counts(const NumberBatch& numbers, std::vector<Count>& counts, unsigned bits = 63) {
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

bool append_buckets(const NumberBatch& numbers, std::vector<std::int64_t>& buckets) {
  return append_counts(numbers, buckets);
}

bool append_examples(const NumberBatch& numbers, std::vector<std::uint64_t>& examples) {
  return append_counts(numbers, examples);
}

bool append_positions(const NumberBatch& numbers, std::vector<double>& positions) {
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

std::span<float> VectorColumn::room(std::size_t most) {
  const std::size_t begin = room_.value_or(out_.size());
  const std::size_t free = out_.capacity() - begin;
  // The room ends where the reserved memory ends, because growing copies everything.
  out_.resize(begin + (free > 0 ? std::min(free, most) : most));
  room_ = begin;
  return std::span(out_).subspan(begin);
}

void VectorColumn::add_rows(std::size_t entries, std::size_t width) {
  const std::size_t begin = room_.value_or(out_.size());
  room_.reset();
  look_for_non_finite(std::span(out_).subspan(begin, entries));
  out_.resize(begin + entries);
  if (entries == 0) return;
  // A row is closed when the next one begins, so the last one stays open.
  const std::size_t since_row_began = open_ + entries;
  const std::size_t closed = (since_row_began - 1) / width;
  if (closed > 0) {
    open_ = width;
    close_row();
    rows_ += closed - 1;
  }
  open_ = since_row_began - closed * width;
}

void VectorColumn::look_for_non_finite(std::span<const float> components) {
  finite_ = finite_ && attention_plasticity::all_finite(components);
}

bool VectorColumn::add(const VectorChunk& chunk) {
  look_for_non_finite(chunk.values);
  // Checked now, because the memory may move when the width of the first row is known.
  const std::size_t begin = room_.value_or(out_.size());
  const bool in_place = room_ && chunk.values.data() == out_.data() + begin;
  room_.reset();
  std::size_t entry = 0;
  bool sound = true;
  while (sound && entry < chunk.definition.size()) {
    if (is_whole_row(chunk, entry)) {
      sound = close_row();
      if (!sound) break;
      open_ = width_;
      entry += width_;
    } else {
      sound = take_entry(chunk, entry);
      if (sound) ++entry;
    }
  }
  // Entries before a fault are not null, so each of them has a value.
  if (in_place) {
    out_.resize(begin + entry);
  } else {
    const auto taken = chunk.values.first(entry);
    out_.resize(begin);
    out_.insert(out_.end(), taken.begin(), taken.end());
  }
  return sound;
}

/// True if the entries from this one on are exactly one new row that breaks no rule. Nearly always true, so it is
/// tested without a branch per component.
bool VectorColumn::is_whole_row(const VectorChunk& chunk, std::size_t entry) const {
  if (width_ == 0 || chunk.definition.size() - entry < width_ || chunk.repetition[entry] != 0) return false;
  if (chunk.fitting < chunk.values.size() && chunk.fitting < entry + width_) return false;
  return all_are(chunk.definition.subspan(entry, width_), chunk.component_present) &&
         all_are(chunk.repetition.subspan(entry + 1, width_ - 1), 1);
}

bool VectorColumn::take_entry(const VectorChunk& chunk, std::size_t entry) {
  if (chunk.repetition[entry] == 0) {
    if (!close_row()) return false;
  } else if (open_ == 0) {
    throw std::runtime_error("a row group begins in the middle of a row");
  }
  const std::int16_t definition = chunk.definition[entry];
  if (definition < chunk.entry_present - 1) return refuse("vector is null");
  if (definition < chunk.entry_present) {
    return refuse(width_ == 0 ? "vector has no components"
                              : fmt::format("vector has 0 components where the rows before have {}", width_));
  }
  if (definition < chunk.component_present) return refuse(fmt::format("vector has a null component (index {})", open_));
  if (entry == chunk.fitting && chunk.fitting < chunk.values.size()) {
    return refuse(fmt::format("vector holds {}, too large for single precision,", chunk.unfit));
  }
  ++open_;
  return true;
}

bool VectorColumn::finish_group() { return close_row(); }

bool VectorColumn::close_row() {
  if (open_ == 0) return true;
  if (width_ == 0) {
    width_ = open_;
    out_.reserve(expected_rows_ > most_reserved_ / width_ ? most_reserved_ : expected_rows_ * width_);
  }
  if (open_ != width_) {
    return refuse(fmt::format("vector has {} components where the rows before have {}", open_, width_));
  }
  open_ = 0;
  ++rows_;
  return true;
}

bool VectorColumn::refuse(std::string message) {
  fault_ = RowFault{rows_, std::move(message)};
  return false;
}

}  // namespace attention_plasticity
