#pragma once

#include <nanobind/nanobind.h>

namespace attention_plasticity::python {

/// The numbers of the figures of a run.
void bind_figures(nanobind::module_& module);

}  // namespace attention_plasticity::python
