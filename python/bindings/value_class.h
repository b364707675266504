#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace attention_plasticity::python {

/// A member of a struct: its name in Python and its docstring.
template <class T, class M>
struct Field {
  const char* name;
  M T::* member;
  std::string meaning;
};
template <class T, class M, class Text>
Field(const char*, M T::*, Text) -> Field<T, M>;

/// Specialized for each struct that Python sees as a value: `static auto all()` gives its Fields in a std::tuple.
template <class T>
struct FieldsOf;

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// Whether all figures are the same; NaN, a figure that does not exist, is the same as NaN.
template <class T>
bool is_same(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a == b || (std::isnan(a) && std::isnan(b));
  } else if constexpr (is_vector<T>) {
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return is_same(x, y); });
  } else if constexpr (is_optional<T>) {
    return a.has_value() == b.has_value() && (!a || is_same(*a, *b));
  } else if constexpr (requires { FieldsOf<T>::all(); }) {
    return std::apply([&](const auto&... field) { return (is_same(a.*field.member, b.*field.member) && ...); },
                      FieldsOf<T>::all());
  } else {
    return a == b;
  }
}

/// The value as Python shows it; of a list the number of its entries.
template <class M>
std::string shown(const M& value) {
  if constexpr (is_vector<M>) {
    return "<" + std::to_string(value.size()) + " entries>";
  } else {
    return nanobind::cast<std::string>(nanobind::repr(nanobind::cast(value)));
  }
}

/// A class of Python from a struct: read-only members with docstrings, ==, repr() and pickle. `show` null: repr() shows
/// all members.
template <class T>
nanobind::class_<T> bind_value(nanobind::module_& module, const char* name, const char* meaning,
                               std::string (*show)(const T&) = nullptr) {
  namespace nb = nanobind;
  nb::class_<T> type(module, name, meaning);
  std::apply([&](const auto&... field) { (type.def_ro(field.name, field.member, field.meaning.c_str()), ...); },
             FieldsOf<T>::all());
  type.def(
      "__eq__",
      [](const T& self, const nb::object& other) -> nb::object {
        if (!nb::isinstance<T>(other)) return nb::borrow(nb::handle(Py_NotImplemented));
        return nb::cast(is_same(self, nb::cast<const T&>(other)));
      },
      nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  type.attr("__hash__") = nb::none();
  type.def("__repr__", [name, show](const T& self) {
    if (show != nullptr) return show(self);
    std::string text;
    std::apply(
        [&](const auto&... field) {
          ((text += (text.empty() ? "" : ", ") + std::string(field.name) + "=" + shown(self.*field.member)), ...);
        },
        FieldsOf<T>::all());
    return std::string(name) + "(" + text + ")";
  });
  type.def(
      "__getstate__",
      [](const T& self) {
        return std::apply([&](const auto&... field) { return nb::make_tuple(self.*field.member...); },
                          FieldsOf<T>::all());
      },
      nb::sig("def __getstate__(self) -> tuple[typing.Any, ...]"));
  type.def(
      "__setstate__",
      [](T& self, const nb::tuple& state) {
        T* const made = new (&self) T();
        std::size_t next = 0;
        std::apply(
            [&](const auto&... field) {
              ((made->*field.member = nb::cast<std::remove_cvref_t<decltype(made->*field.member)>>(state[next++])),
               ...);
            },
            FieldsOf<T>::all());
      },
      nb::sig("def __setstate__(self, state: tuple[typing.Any, ...]) -> None"));
  return type;
}

}  // namespace attention_plasticity::python
