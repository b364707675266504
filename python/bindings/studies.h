#pragma once

#include <nanobind/nanobind.h>

namespace attention_plasticity::python {

/// What is done with the files of a run: reading, cache plans, validation, reports.
void bind_studies(nanobind::module_& module);

}  // namespace attention_plasticity::python
