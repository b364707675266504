#pragma once

#include <nanobind/nanobind.h>

namespace attention_plasticity::python {

/// HeadResult and its parts.
void bind_head_results(nanobind::module_& module);

}  // namespace attention_plasticity::python
