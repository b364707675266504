#include "table_arrays.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/error.h"
#include "owned_array.h"

namespace nb = nanobind;

namespace attention_plasticity::python {
TableId table_id(std::string_view name) {
  std::vector<std::string_view> names;
  const std::vector<TableInfo> tables = table_infos();
  for (const TableInfo& table : tables) {
    if (table.name == name) return table.id;
    names.push_back(table.name);
  }
  const auto nearest = nearest_name(name, names);
  throw Error(ErrorKind::usage,
              fmt::format("there is no table {}; {}", name,
                          nearest ? fmt::format("did you mean {}?", *nearest) : "tables() describes them all"));
}

nb::dict columns_of(Table table) {
  nb::dict columns;
  for (TableColumn& column : table.columns) {
    nb::object values =
        std::visit([](auto& numbers) -> nb::object { return owned_array(std::move(numbers)); }, column.values);
    columns[nb::str(column.name.c_str(), column.name.size())] = std::move(values);
  }
  return columns;
}

nb::object array_of(std::vector<double> values) { return owned_array(std::move(values)); }

nb::object array_of(const Matrix& matrix) {
  return owned_array(std::vector<double>(matrix.data(), matrix.data() + matrix.rows() * matrix.cols()),
                     {matrix.rows(), matrix.cols()});
}

}  // namespace attention_plasticity::python
