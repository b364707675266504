#pragma once

#include <nanobind/nanobind.h>

namespace attention_plasticity::python {

/// Labels of heads by their own attention.
void bind_labels(nanobind::module_& module);

}  // namespace attention_plasticity::python
