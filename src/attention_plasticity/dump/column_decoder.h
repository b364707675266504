#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "attention_plasticity/dump/column_rules.h"
#include "attention_plasticity/dump/vector_column.h"

namespace parquet {
class ColumnDescriptor;
class ColumnReader;
class PageReader;
}  // namespace parquet

namespace attention_plasticity {

/// True of the usual three levels of a list (`vector`, `list`, `element`) and of the older spellings with two or one;
/// false of lists of lists, of groups, and of columns that are no lists.
bool is_list_of_primitives(const parquet::ColumnDescriptor& leaf);

/// Hands the numbers of a flat column of integers, halves, floats or doubles to `sink`, in order, a few thousand at a
/// time, until the column ends or the sink returns false. Throws parquet::ParquetException, among others.
void decode_numbers(parquet::ColumnReader& column, const std::function<bool(const NumberBatch&)>& sink);

/// Adds the entries of a list of halves, floats or doubles to `out` in the same way, until one is at fault. Doubles are
/// rounded to float. Pages that hold nothing but rows of `likely_width` components (that of the rows before, when `out`
/// knows it; 0: unknown) are read without decoding their levels.
void decode_vectors(const parquet::ColumnDescriptor& leaf, std::unique_ptr<parquet::PageReader> pages,
                    std::size_t likely_width, VectorColumn& out);

}  // namespace attention_plasticity
