#include "attention_plasticity/dump/column_kind.h"

#include <fmt/format.h>
#include <parquet/schema.h>
#include <parquet/types.h>

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

std::size_t value_bytes(const parquet::ColumnDescriptor& leaf) {
  switch (leaf.physical_type()) {
    case parquet::Type::INT32:
    case parquet::Type::FLOAT:
    case parquet::Type::BYTE_ARRAY:
      return 4;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return 2;
    default:
      return 8;
  }
}

}  // namespace attention_plasticity
