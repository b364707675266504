#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "attention_plasticity/results/csv_table.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {

/// The index of a column of the schema in a table that was read. The column is looked for under the project's own name,
/// then under the names that other programs use. None when the table does not have it.
std::optional<std::size_t> find_column(const CsvTable& table, const ResultColumn& column);

/// The same for a column that must exist. Throws Error(input) with the names that were looked for.
std::size_t column_place(const CsvTable& table, TableId id, std::string_view column);

/// The index of the column that counts the samples behind `column` (ResultColumn::counted_by). None when the table does
/// not have it.
std::optional<std::size_t> count_place(const CsvTable& table, TableId id, std::string_view column);

}  // namespace attention_plasticity
