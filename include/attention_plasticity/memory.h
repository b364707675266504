#pragma once

#include <cstddef>

#include "attention_plasticity/export.h"

/// @file
/// The memory of vectors that the library keeps.
///
/// Vectors that the library itself reads or copies lie in blocks of at least 2 MiB, on huge pages where the system has
/// them. A block that a head gives back is kept, for the whole process, and handed to the next head of about its size.
/// Blocks in use and kept blocks together never exceed the largest amount that was in use. analyze_dump() frees what is
/// kept when it ends; a program that calls analyze_head() may do so whenever it likes.

namespace attention_plasticity {

/// The size of the kept blocks in bytes. Thread-safe.
AP_API std::size_t kept_memory_bytes();

/// Gives the kept blocks back to the system. Blocks in use stay. Throws nothing. Thread-safe.
AP_API void release_kept_memory() noexcept;

}  // namespace attention_plasticity
