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

#include "attention_plasticity/dump/vector_pages.h"

namespace attention_plasticity {
namespace {

// The values and levels of a batch fit into the second-level cache.
constexpr std::size_t batch = 16384;

/// The repeated node of a list of primitives: the group `list` of the usual three levels, or the primitive itself in
/// old files. Null when an entry is more than one primitive.
const parquet::schema::Node* repeated_node(const parquet::ColumnDescriptor& leaf) {
  const parquet::schema::Node* node = leaf.schema_node().get();
  if (!node->is_repeated()) node = node->parent();
  return node != nullptr && node->is_repeated() ? node : nullptr;
}

/// The smallest definition level of a row that has entries, which is the level of the repeated node.
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

[[noreturn]] void refuse_missing_values() {
  throw parquet::ParquetException("a page has fewer values than its levels say");
}

/// The definition levels that were read of a batch. Throws unless there is a value for each level that is `present`.
std::span<const std::int16_t> checked_levels(std::span<const std::int16_t> definition, std::int64_t level_count,
                                             std::int64_t value_count, std::int16_t present) {
  if (level_count <= 0) throw parquet::ParquetException("a page ends early");
  const auto levels = definition.first(static_cast<std::size_t>(level_count));
  const auto expected = all_are(levels, present) ? level_count : std::ranges::count(levels, present);
  if (expected != value_count) refuse_missing_values();
  return levels;
}

/// Hands the batches of a column to `sink` as definition levels, repetition levels and values, until it returns false.
template <class Type, class Sink>
void for_each_batch(parquet::ColumnReader& column, Sink&& sink) {
  auto& reader = dynamic_cast<parquet::TypedColumnReader<Type>&>(column);
  const std::int16_t present = column.descr()->max_definition_level();
  // Arrow does not write the levels when the schema says that nothing can be null.
  std::vector<std::int16_t> definition(batch, present);
  std::vector<std::int16_t> repetition(batch, 0);
  std::vector<typename Type::c_type> values(batch);
  while (reader.HasNext()) {
    std::int64_t value_count = 0;
    const std::int64_t level_count =
        reader.ReadBatch(batch, definition.data(), repetition.data(), values.data(), &value_count);
    const auto levels = checked_levels(definition, level_count, value_count, present);
    if (!sink(levels, std::span<const std::int16_t>(repetition).first(levels.size()),
              std::span<const typename Type::c_type>(values).first(static_cast<std::size_t>(value_count)))) {
      return;
    }
  }
}

using NumberSink = std::function<bool(const NumberBatch&)>;

/// Hands over numbers. A batch without nulls goes as `Plain` values (std::int64_t or double) if `make_plain` can make
/// them; other batches go as Numbers, each made by `widen`.
template <class Type, class Plain, class MakePlain, class Widen>
void read_flat(parquet::ColumnReader& column, MakePlain make_plain, Widen widen, const NumberSink& sink) {
  std::vector<Plain> plain;
  std::vector<Number> mixed;
  const std::int16_t present = column.descr()->max_definition_level();
  for_each_batch<Type>(column, [&](auto definition, auto /*repetition*/, auto values) {
    if (values.empty()) return sink(NumberBatch::Nulls{definition.size()});
    if (values.size() == definition.size() && make_plain(values, plain)) return sink(std::span<const Plain>(plain));
    mixed.resize(definition.size());
    auto value = values.begin();
    for (std::size_t i = 0; i < mixed.size(); ++i) {
      mixed[i] = definition[i] == present ? Number{widen(*value++)} : Number{};
    }
    return sink(std::span<const Number>(mixed));
  });
}

/// Integers, signed or unsigned as the schema says.
template <class Type, class Unsigned>
void read_integers(parquet::ColumnReader& column, const NumberSink& sink) {
  const auto& logical = column.descr()->logical_type();
  const bool is_unsigned =
      logical && logical->is_int() && !static_cast<const parquet::IntLogicalType&>(*logical).is_signed();
  const auto make_plain = [is_unsigned](auto values, std::vector<std::int64_t>& plain) {
    plain.assign(values.begin(), values.end());
    // Unsigned numbers with the highest bit set are left to `widen`.
    return !is_unsigned || std::ranges::none_of(plain, [](std::int64_t value) { return value < 0; });
  };
  const auto widen = [is_unsigned](auto value) -> Number {
    if (!is_unsigned) return std::int64_t{value};
    const std::uint64_t wide = static_cast<Unsigned>(value);
    if (wide > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return wide;
    return static_cast<std::int64_t>(wide);
  };
  read_flat<Type, std::int64_t>(column, make_plain, widen, sink);
}

template <class Type, class Widen>
void read_reals(parquet::ColumnReader& column, Widen widen, const NumberSink& sink) {
  const auto make_plain = [&](auto values, std::vector<double>& plain) {
    plain.resize(values.size());
    std::ranges::transform(values, plain.begin(), widen);
    return true;
  };
  read_flat<Type, double>(column, make_plain, widen, sink);
}

/// Rounds to single precision, and returns the index of the first finite number that would become infinite.
std::size_t round_to_float(std::span<const double> values, std::vector<float>& out) {
  // Half a unit above the largest float: every number below it rounds to a finite float.
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

VectorChunk empty_chunk(const parquet::ColumnDescriptor& leaf) {
  VectorChunk chunk;
  chunk.component_present = leaf.max_definition_level();
  chunk.entry_present = entry_definition(leaf);
  return chunk;
}

/// Decodes floats into their final place. Levels are decoded only in pages that may hold more than whole rows.
class FloatVectors {
 public:
  FloatVectors(parquet::ColumnReader& column, const VectorPages& pages, std::size_t likely_width, VectorColumn& out)
      : reader_(dynamic_cast<parquet::FloatReader&>(column)),
        pages_(pages),
        likely_width_(likely_width),
        out_(out),
        chunk_(empty_chunk(*column.descr())) {}

  void read() {
    while (reader_.HasNext()) {
      if (page_ != pages_.count()) begin_page();
      const std::span<float> room = out_.room(batch);
      if (width_ > 0) {
        read_rows(room);
      } else if (!read_with_levels(room)) {
        return;
      }
    }
  }

 private:
  void begin_page() {
    page_ = pages_.count();
    entries_left_ = pages_.entries();
    width_ = out_.width() > 0 ? out_.width() : likely_width_;
    if (!pages_.hold_only_rows(width_, out_.begun())) width_ = 0;
  }

  void read_rows(std::span<float> room) {
    const std::size_t expected = std::min(entries_left_, room.size());
    std::int64_t values = 0;
    reader_.ReadBatch(static_cast<std::int64_t>(room.size()), nullptr, nullptr, room.data(), &values);
    if (static_cast<std::size_t>(values) != expected) refuse_missing_values();
    entries_left_ -= expected;
    out_.add_rows(expected, width_);
  }

  bool read_with_levels(std::span<float> room) {
    definition_.resize(batch);
    repetition_.resize(batch);
    std::int64_t values = 0;
    const std::int64_t levels = reader_.ReadBatch(static_cast<std::int64_t>(room.size()), definition_.data(),
                                                  repetition_.data(), room.data(), &values);
    chunk_.definition = checked_levels(definition_, levels, values, chunk_.component_present);
    chunk_.repetition = std::span<const std::int16_t>(repetition_).first(chunk_.definition.size());
    chunk_.values = room.first(static_cast<std::size_t>(values));
    chunk_.fitting = chunk_.values.size();
    return out_.add(chunk_);
  }

  parquet::FloatReader& reader_;
  const VectorPages& pages_;
  std::size_t likely_width_;
  VectorColumn& out_;
  VectorChunk chunk_;
  std::vector<std::int16_t> definition_;
  std::vector<std::int16_t> repetition_;
  std::size_t page_ = 0;          ///< number of the current page, from 1
  std::size_t entries_left_ = 0;  ///< in the current page; unused while its levels are decoded
  std::size_t width_ = 0;         ///< of the rows in the current page; 0: its levels must be decoded
};

template <class Type>
void read_lists(parquet::ColumnReader& column, VectorColumn& out) {
  VectorChunk chunk = empty_chunk(*column.descr());
  std::vector<float> converted;
  for_each_batch<Type>(column, [&](auto definition, auto repetition, auto values) {
    chunk.definition = definition;
    chunk.repetition = repetition;
    chunk.fitting = values.size();
    if constexpr (std::is_same_v<Type, parquet::DoubleType>) {
      chunk.fitting = round_to_float(values, converted);
      if (chunk.fitting < values.size()) chunk.unfit = values[chunk.fitting];
    } else {
      converted.resize(values.size());
      std::ranges::transform(values, converted.begin(), half_to_float);
    }
    chunk.values = converted;
    return out.add(chunk);
  });
}

}  // namespace

bool is_list_of_primitives(const parquet::ColumnDescriptor& leaf) {
  return leaf.max_repetition_level() == 1 && repeated_node(leaf) != nullptr;
}

void decode_numbers(const parquet::ColumnDescriptor& leaf, std::unique_ptr<parquet::PageReader> pages,
                    arrow::MemoryPool* pool, const NumberSink& sink) {
  const auto reader = parquet::ColumnReader::Make(&leaf, std::move(pages), pool);
  parquet::ColumnReader& column = *reader;
  switch (column.type()) {
    case parquet::Type::INT32:
      return read_integers<parquet::Int32Type, std::uint32_t>(column, sink);
    case parquet::Type::INT64:
      return read_integers<parquet::Int64Type, std::uint64_t>(column, sink);
    case parquet::Type::FLOAT:
      return read_reals<parquet::FloatType>(column, [](float value) { return double{value}; }, sink);
    case parquet::Type::DOUBLE:
      return read_reals<parquet::DoubleType>(column, [](double value) { return value; }, sink);
    default:
      return read_reals<parquet::FLBAType>(
          column, [](const parquet::FixedLenByteArray& bytes) { return double{half_to_float(bytes)}; }, sink);
  }
}

void decode_vectors(const parquet::ColumnDescriptor& leaf, std::unique_ptr<parquet::PageReader> pages,
                    arrow::MemoryPool* pool, std::size_t likely_width, VectorColumn& out) {
  auto watched = std::make_unique<VectorPages>(leaf, std::move(pages));
  const VectorPages& pages_read = *watched;
  const auto column = parquet::ColumnReader::Make(&leaf, std::move(watched), pool);
  switch (column->type()) {
    case parquet::Type::FLOAT:
      return FloatVectors(*column, pages_read, likely_width, out).read();
    case parquet::Type::DOUBLE:
      return read_lists<parquet::DoubleType>(*column, out);
    default:
      return read_lists<parquet::FLBAType>(*column, out);
  }
}

void decode_texts(const parquet::ColumnDescriptor& leaf, std::unique_ptr<parquet::PageReader> pages,
                  arrow::MemoryPool* pool, const std::function<bool(std::optional<std::string_view>)>& sink) {
  const auto column = parquet::ColumnReader::Make(&leaf, std::move(pages), pool);
  const std::int16_t present = leaf.max_definition_level();
  for_each_batch<parquet::ByteArrayType>(*column, [&](auto definition, auto /*repetition*/, auto values) {
    auto value = values.begin();
    return std::ranges::all_of(definition, [&](std::int16_t level) {
      if (level != present) return sink(std::nullopt);
      return sink(std::string_view(*value++));
    });
  });
}

}  // namespace attention_plasticity
