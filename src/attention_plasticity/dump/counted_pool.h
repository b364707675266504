#pragma once

#include <arrow/memory_pool.h>

#include <memory>

#include "attention_plasticity/base/memory_account.h"

namespace attention_plasticity {

/// Arrow's usual memory, counted in the account that the calling thread has when the pool is made. What exceeds the
/// account is refused as Arrow refuses it, with Status::OutOfMemory. The
/// pool must outlive what is allocated from it, and the account must outlive the pool.
std::unique_ptr<arrow::MemoryPool> counted_pool();

/// Whether Arrow gave up because it got no memory: from an account, or from the system.
bool is_out_of_memory(const std::exception& failure);

/// Throws the OverMemoryLimit by which `pool`, of counted_pool(), refused an allocation last. Returns when there was
/// none.
void rethrow_refusal(const arrow::MemoryPool& pool);

}  // namespace attention_plasticity
