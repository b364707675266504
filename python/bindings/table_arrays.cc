#include "table_arrays.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <variant>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/error.h"

namespace nb = nanobind;

namespace attention_plasticity::python {
namespace {

template <class T>
nb::object owned_array(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto held = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = held->data();
  const nb::capsule owner(held.release(), [](void* block) noexcept { delete static_cast<std::vector<T>*>(block); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data, shape, owner));
}

}  // namespace

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
    nb::object values = std::visit(
        [](auto& numbers) -> nb::object {
          const std::size_t rows = numbers.size();
          return owned_array(std::move(numbers), {rows});
        },
        column.values);
    columns[nb::str(column.name.c_str(), column.name.size())] = std::move(values);
  }
  return columns;
}

nb::object array_of(std::vector<double> values) {
  const std::size_t size = values.size();
  return owned_array(std::move(values), {size});
}

nb::object array_of(const Matrix& matrix) {
  return owned_array(std::vector<double>(matrix.data(), matrix.data() + matrix.rows() * matrix.cols()),
                     {matrix.rows(), matrix.cols()});
}

}  // namespace attention_plasticity::python
