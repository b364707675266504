#pragma once

#include <nanobind/nanobind.h>

namespace attention_plasticity::python {

/// Several runs by their files: comparisons of two, and series.
void bind_comparisons(nanobind::module_& module);

}  // namespace attention_plasticity::python
