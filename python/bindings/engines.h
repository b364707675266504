#pragma once

#include <nanobind/nanobind.h>

#include "attention_plasticity/run/engine.h"

namespace attention_plasticity::python {

/// An engine that is a function of Python: engine(work, receiver), called without the calling thread's signals, on a
/// thread of the run. What it raises is thrown as it is.
Engine engine_of(const nanobind::callable& engine);

/// What an engine gets, and the worker that measures parts in other processes.
void bind_engines(nanobind::module_& module);

}  // namespace attention_plasticity::python
