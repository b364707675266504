#pragma once

#include <string>

namespace attention_plasticity {

/// Prepares libllama for this process: finds its devices, and keeps its log from the streams of the program. May be
/// called often. Throws Error(input) on a processor that it cannot run on.
void prepare_llama();

/// Called when libllama is about to end the process, with what it says; it need not return. Null: nothing is called.
void set_llama_abort(void (*handler)(const char* message));

/// The first line that libllama has logged as an error since the last call, without its end; empty: none. Thread-safe.
std::string take_llama_error();

}  // namespace attention_plasticity
