#pragma once

#include <nanobind/nanobind.h>

#include "attention_plasticity/capture/captured_model.h"
#include "attention_plasticity/capture/tensor_view.h"
#include "head_arrays.h"

namespace attention_plasticity::python {

/// Borrows the array: heads, tokens, components. Throws Error(input) for other numbers of dimensions, and for numbers
/// that are not float32, float16 or bfloat16.
TensorView tensor_view(const AnyArray& tensor, const char* what);

/// The model that a dict describes: name, config, source (may be missing), layers with q_heads, k_heads, width, window.
CapturedModel model_of(const nanobind::dict& model);

}  // namespace attention_plasticity::python
