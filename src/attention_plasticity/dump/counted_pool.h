#pragma once

#include <arrow/memory_pool.h>

#include <memory>

namespace attention_plasticity {

/// Arrow's usual memory. It is looked for before main() begins: Arrow ends the program when it lacks memory for that.
arrow::MemoryPool* usual_pool();

/// The same, counted in the account that the calling thread has now; null when it has none. What exceeds
/// the account is refused with Status::OutOfMemory. The pool must outlive what is allocated from it, and the account
/// must outlive the pool.
std::unique_ptr<arrow::MemoryPool> counted_pool();

}  // namespace attention_plasticity
