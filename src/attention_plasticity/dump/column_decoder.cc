#include "attention_plasticity/dump/column_decoder.h"

#include <arrow/util/float16.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace attention_plasticity {
namespace {

// Values and both levels stay in the second-level cache.
constexpr std::size_t batch = 16384;

/// The node of a list of primitives that repeats: the group `list` of the usual three levels, or the primitive itself
/// in older spellings. Null when the entries are more than one primitive.
const parquet::schema::Node* repeated_node(const parquet::ColumnDescriptor& leaf) {
  const parquet::schema::Node* node = leaf.schema_node().get();
  if (!node->is_repeated()) node = node->parent();
  return node != nullptr && node->is_repeated() ? node : nullptr;
}

/// Least definition level of a row that has entries: that of the repeated node.
std::int16_t entry_definition(const parquet::ColumnDescriptor& leaf) {
  std::int16_t above = leaf.max_definition_level();
  const parquet::schema::Node* const repeated = repeated_node(leaf);
  for (const auto* node = leaf.schema_node().get(); node != repeated; node = node->parent()) {
    if (!node->is_required()) --above;
  }
  return above;
}

float half_to_float(const parquet::FixedLenByteArray& bytes) {
  return arrow::util::Float16::FromLittleEndian(bytes.ptr).ToFloat();
}

/// Hands over batches of a column: levels, values, and how many of each. `sink` returns false to stop.
template <class Type, class Sink>
void for_each_batch(parquet::ColumnReader& column, Sink&& sink) {
  auto& reader = dynamic_cast<parquet::TypedColumnReader<Type>&>(column);
  const std::int16_t present = column.descr()->max_definition_level();
  // Arrow leaves the levels alone where the schema says that nothing can be null.
  std::vector<std::int16_t> definition(batch, present);
  std::vector<std::int16_t> repetition(batch, 0);
  std::vector<typename Type::c_type> values(batch);
  while (reader.HasNext()) {
    std::int64_t value_count = 0;
    const std::int64_t level_count =
        reader.ReadBatch(batch, definition.data(), repetition.data(), values.data(), &value_count);
    if (level_count <= 0) throw parquet::ParquetException("a page ends early");
    const auto levels = std::span<const std::int16_t>(definition).first(static_cast<std::size_t>(level_count));
    const auto expected = all_are(levels, present) ? level_count : std::ranges::count(levels, present);
    if (expected != value_count) {
      throw parquet::ParquetException("a page has fewer values than its levels say");
    }
    if (!sink(levels, std::span<const std::int16_t>(repetition).first(levels.size()),
              std::span<const typename Type::c_type>(values).first(static_cast<std::size_t>(value_count)))) {
      return;
    }
  }
}

template <class Type, class Widen>
void read_flat(parquet::ColumnReader& column, Widen widen, const std::function<bool(std::span<const Number>)>& sink) {
  std::vector<Number> numbers;
  const std::int16_t present = column.descr()->max_definition_level();
  for_each_batch<Type>(column, [&](auto definition, auto /*repetition*/, auto values) {
    numbers.resize(definition.size());
    auto value = values.begin();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = definition[i] == present ? Number{widen(*value++)} : Number{};
    }
    return sink(numbers);
  });
}

/// Integers as the schema's sign means them.
template <class Type, class Unsigned>
void read_integers(parquet::ColumnReader& column, const std::function<bool(std::span<const Number>)>& sink) {
  const auto& logical = column.descr()->logical_type();
  const bool is_unsigned =
      logical && logical->is_int() && !static_cast<const parquet::IntLogicalType&>(*logical).is_signed();
  read_flat<Type>(
      column,
      [is_unsigned](auto value) -> Number {
        if (!is_unsigned) return std::int64_t{value};
        const std::uint64_t wide = static_cast<Unsigned>(value);
        if (wide > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return wide;
        return static_cast<std::int64_t>(wide);
      },
      sink);
}

/// Rounds to single precision; stops at a finite number that would become infinite.
std::size_t round_to_float(std::span<const double> values, std::vector<float>& out) {
  // Half a unit above the largest float: what is below it rounds to a float.
  constexpr double limit = 0x1.ffffffp127;
  out.clear();
  for (const double value : values) {
    if (std::isfinite(value) && std::abs(value) >= limit) break;
    out.push_back(static_cast<float>(value));
  }
  const std::size_t fitting = out.size();
  out.resize(values.size());
  return fitting;
}

template <class Type>
void read_lists(parquet::ColumnReader& column, const std::function<bool(const VectorChunk&)>& sink) {
  VectorChunk chunk;
  chunk.component_present = column.descr()->max_definition_level();
  chunk.entry_present = entry_definition(*column.descr());
  std::vector<float> converted;
  for_each_batch<Type>(column, [&](auto definition, auto repetition, auto values) {
    chunk.definition = definition;
    chunk.repetition = repetition;
    chunk.fitting = values.size();
    if constexpr (std::is_same_v<Type, parquet::FloatType>) {
      chunk.values = values;
    } else {
      if constexpr (std::is_same_v<Type, parquet::DoubleType>) {
        chunk.fitting = round_to_float(values, converted);
        if (chunk.fitting < values.size()) chunk.unfit = values[chunk.fitting];
      } else {
        converted.resize(values.size());
        std::ranges::transform(values, converted.begin(), half_to_float);
      }
      chunk.values = converted;
    }
    return sink(chunk);
  });
}

}  // namespace

bool is_list_of_primitives(const parquet::ColumnDescriptor& leaf) {
  return leaf.max_repetition_level() == 1 && repeated_node(leaf) != nullptr;
}

void decode_numbers(parquet::ColumnReader& column, const std::function<bool(std::span<const Number>)>& sink) {
  switch (column.type()) {
    case parquet::Type::INT32:
      return read_integers<parquet::Int32Type, std::uint32_t>(column, sink);
    case parquet::Type::INT64:
      return read_integers<parquet::Int64Type, std::uint64_t>(column, sink);
    case parquet::Type::FLOAT:
      return read_flat<parquet::FloatType>(column, [](float value) { return double{value}; }, sink);
    case parquet::Type::DOUBLE:
      return read_flat<parquet::DoubleType>(column, [](double value) { return value; }, sink);
    default:
      return read_flat<parquet::FLBAType>(
          column, [](const parquet::FixedLenByteArray& bytes) { return double{half_to_float(bytes)}; }, sink);
  }
}

void decode_vectors(parquet::ColumnReader& column, const std::function<bool(const VectorChunk&)>& sink) {
  switch (column.type()) {
    case parquet::Type::FLOAT:
      return read_lists<parquet::FloatType>(column, sink);
    case parquet::Type::DOUBLE:
      return read_lists<parquet::DoubleType>(column, sink);
    default:
      return read_lists<parquet::FLBAType>(column, sink);
  }
}

}  // namespace attention_plasticity
