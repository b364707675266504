#pragma once

#include <functional>
#include <span>

#include "attention_plasticity/dump/column_rules.h"
#include "attention_plasticity/dump/vector_column.h"

namespace parquet {
class ColumnDescriptor;
class ColumnReader;
}  // namespace parquet

namespace attention_plasticity {

/// True of the usual three levels of a list (`vector`, `list`, `element`) and of the older spellings with two or one;
/// false of lists of lists, of groups, and of columns that are no lists.
bool is_list_of_primitives(const parquet::ColumnDescriptor& leaf);

/// Hands the numbers of a flat column of integers, halves, floats or doubles to `sink`, in order, a few thousand at a
/// time, until the column ends or the sink returns false. Throws parquet::ParquetException, among others.
void decode_numbers(parquet::ColumnReader& column, const std::function<bool(std::span<const Number>)>& sink);

/// Hands the entries of a list of halves, floats or doubles to `sink` in the same way. Doubles are rounded to float.
void decode_vectors(parquet::ColumnReader& column, const std::function<bool(const VectorChunk&)>& sink);

}  // namespace attention_plasticity
