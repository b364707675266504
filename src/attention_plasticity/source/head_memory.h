#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/dump/head_file.h"

// How `memory_limit` is kept: by upper bounds that are known before a head is read. The queue admits a head when its
// bound is free, decoding refuses files that turn out larger than their footers say, and cells are counted before they
// are measured. Whether a head fits depends on its own files, the options and the number of heads of the run, so the
// same heads fail for any number of workers.

namespace attention_plasticity {

/// Upper bounds of the memory that a task needs.
struct TaskBytes {
  std::uint64_t queries = 0;  ///< while it works, beside its keys
  std::uint64_t keys = 0;     ///< of its key group, once they are loaded
  std::uint64_t loading = 0;  ///< while the keys are loaded

  /// The most that the task needs when it loads its keys itself.
  std::uint64_t with_keys() const { return std::max(loading, queries + keys); }
};

/// The memory of the rows of one side of a head, in bytes.
struct RowBytes {
  std::uint64_t read = 0;  ///< the most until the rows are chosen that are analysed
  std::uint64_t kept = 0;  ///< of the rows that are analysed
};

/// Bounds for the rows of one side of a head.
RowBytes row_bytes(const HeadFileSize& file, const AnalysisOptions& options);

/// The memory that the analysis of a head takes at most beside its rows and its result.
std::uint64_t analysis_bytes(std::size_t queries, std::size_t keys, std::size_t width, const AnalysisOptions& options,
                             bool has_rotation);

/// The bounds of a task, from those of its rows and its analysis. `most_result`: the memory of its result.
TaskBytes task_bytes(const RowBytes& queries, const RowBytes& keys, std::uint64_t analysis, std::uint64_t most_result);

/// How the heads of a run share its `memory_limit`. A quarter of the limit is set aside for results, in equal shares. A
/// run of one head has no others to set memory aside for.
struct MemoryShares {
  /// `beside`: the part of the limit that is taken by other than heads.
  MemoryShares(std::uint64_t memory_limit, std::size_t heads, std::uint64_t beside = 0);

  std::uint64_t limit;
  std::uint64_t most_of_head;    ///< with its keys and its result
  std::uint64_t most_of_result;  ///< of a small head

  /// The memory that the result of a head may take, given the bounds of its task without a result.
  std::uint64_t most_result(const TaskBytes& bytes) const;
};

}  // namespace attention_plasticity
