#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace parquet {
class ColumnDescriptor;
}  // namespace parquet

namespace attention_plasticity {

/// What a column of a head file may hold, or of a file of texts.
enum class ColumnKind { integer, number, vector, text };

/// "a list of half, float or double" and alike.
std::string_view wanted(ColumnKind kind);
/// The type of a leaf column, for a message.
std::string describe(const parquet::ColumnDescriptor& leaf);
/// Whether a leaf column is of a kind. `is_primitive`: it stands at the top level.
bool allows(ColumnKind kind, const parquet::ColumnDescriptor& leaf, bool is_primitive);
/// Bytes of one value of a column of any kind, as it is stored plainly; of a text, of its length.
std::size_t value_bytes(const parquet::ColumnDescriptor& leaf);

}  // namespace attention_plasticity
