#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace attention_plasticity::python {

/// A NumPy array that owns the values.
template <class T>
nanobind::object owned_array(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto held = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = held->data();
  const nanobind::capsule owner(held.release(),
                                [](void* block) noexcept { delete static_cast<std::vector<T>*>(block); });
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(data, shape, owner));
}

template <class T>
nanobind::object owned_array(std::vector<T> values) {
  const std::size_t size = values.size();
  return owned_array(std::move(values), {size});
}

}  // namespace attention_plasticity::python
