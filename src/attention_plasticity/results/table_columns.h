#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "attention_plasticity/results/csv_table.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {

/// Where a column of the schema stands in a table that was read: under the project's own name, else under one that other
/// programs give it. None when the table does not have it.
std::optional<std::size_t> find_column(const CsvTable& table, const ResultColumn& column);

/// The same for a column that must be there. Throws Error(input) with the names that were looked for.
std::size_t column_place(const CsvTable& table, TableId id, std::string_view column);

}  // namespace attention_plasticity
