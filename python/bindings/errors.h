#pragma once

namespace attention_plasticity::python {

/// Turns every Error of the library into the exception of its kind in attention_plasticity._errors, with the same text,
/// the exit code and the file. Holds for all modules of the package.
void translate_errors();

}  // namespace attention_plasticity::python
