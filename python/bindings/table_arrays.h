#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/tables.h"

namespace attention_plasticity::python {

/// The table of a short name. Throws Error(usage), with the nearest name, for another one.
TableId table_id(std::string_view name);

/// The columns of a table as NumPy arrays by name, which own the values.
nanobind::dict columns_of(Table table);

/// Numbers as a NumPy array, which owns them.
nanobind::object array_of(std::vector<double> values);
nanobind::object array_of(const Matrix& matrix);

}  // namespace attention_plasticity::python
