#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "attention_plasticity/dump/head_columns.h"

namespace parquet {
class ColumnDescriptor;
class PageReader;
}  // namespace parquet
namespace arrow {
class MemoryPool;
}  // namespace arrow

namespace attention_plasticity {

/// True for a list with the usual three levels (`vector`, `list`, `element`) or with two or one as in old files. False
/// for lists of lists, for groups and for columns that are not lists.
bool is_list_of_primitives(const parquet::ColumnDescriptor& leaf);

/// Hands the numbers of a flat column of integers, halves, floats or doubles to `sink`, in order, a few thousand at a
/// time, until the column ends or the sink returns false. Throws parquet::ParquetException and other exceptions of
/// Arrow.
void decode_numbers(const parquet::ColumnDescriptor& leaf, std::unique_ptr<parquet::PageReader> pages,
                    arrow::MemoryPool* pool, const std::function<bool(const NumberBatch&)>& sink);

/// Adds the entries of a list of halves, floats or doubles to `out` in the same way, until one breaks a rule. Doubles
/// are rounded to float.
///
/// A page that holds only whole rows of the expected width is read without decoding its levels. That width is the one
/// of the rows in `out`, or `likely_width` before the first row; 0: unknown.
void decode_vectors(const parquet::ColumnDescriptor& leaf, std::unique_ptr<parquet::PageReader> pages,
                    arrow::MemoryPool* pool, std::size_t likely_width, VectorColumn& out);

/// Hands the values of a flat column of byte arrays to `sink` one by one, nothing for a null, until the column ends or
/// the sink returns false.
void decode_texts(const parquet::ColumnDescriptor& leaf, std::unique_ptr<parquet::PageReader> pages,
                  arrow::MemoryPool* pool, const std::function<bool(std::optional<std::string_view>)>& sink);

}  // namespace attention_plasticity
