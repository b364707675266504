#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/base/memory_account.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/head_outcome.h"
#include "attention_plasticity/run/head_queue.h"
#include "attention_plasticity/run/prepared_run.h"
#include "attention_plasticity/run/read_ahead.h"
#include "attention_plasticity/run/rotation_evidence.h"

namespace attention_plasticity {

/// Waits until the files of a task are there; what it throws ends the run.
using HeadArrival = std::function<void(const HeadTask&)>;

/// Why a head has no result when the memory of a run is too little for it.
std::string over_limit_text(const OverMemoryLimit& over);

/// What the warning about files without examples says. A run tells it once of keys, or once of queries.
inline constexpr std::string_view no_examples_text = "no example_id column, so ";

/// One pass over heads: reads and analyses each, and hands over what became of it.
class HeadPass {
 public:
  /// What the pass is told, and whom it tells. All referred to must outlive it; all functions must be set.
  struct Context {
    const PreparedRun& prepared;
    const RunConfig& config;
    const RunObserver& observer;
    RotationEvidence* evidence = nullptr;  ///< null: the rotation is not checked
    /// The examples whose groups are left out one by one; empty: those of each head.
    std::span<const std::uint64_t> jackknife_examples = {};
    /// Of `memory_limit`, what outcomes that are there already hold (memory_of).
    std::uint64_t held_bytes = 0;
  };
  /// Gets the outcome of the task of that number. Called by one thread at a time.
  using Ended = std::function<void(std::size_t task, HeadOutcome outcome)>;

  HeadPass(std::span<const HeadTask> tasks, Context context, Ended ended);

  /// Files that did not exist when the run was prepared are waited for by `arrive`. Throws what it throws.
  void run(int workers, const std::stop_token& stop, const HeadArrival& arrive = {});

 private:
  TaskBytes after_arrival(const HeadTask& task, const HeadArrival& arrive);
  void check_rotation(int layer, std::size_t width);
  LoadedKeys load_keys(const HeadTask& task);
  HeadFile read(const HeadTask& task, Side side, FileRead& read);
  FinishedTask finished(std::size_t task, HeadOutcome outcome);
  HeadOutcome analyse(const HeadTask& task, const LoadedKeys* keys, const std::exception_ptr& key_failure);
  void measure(const HeadTask& task, const LoadedKeys& keys, HeadOutcome& outcome);
  MeasuredHead measure(const HeadTask& task, HeadRows queries, const OrientedKeys& keys) const;
  bool has_model_width(std::size_t width) const;
  void warn_of_no_examples(const std::filesystem::path& file, Side side);

  const DumpFiles& files() const { return context_.prepared.layout.files(); }
  void release(const std::filesystem::path& file);

  std::span<const HeadTask> tasks_;
  Context context_;
  Ended ended_;
  std::unique_ptr<ReadAhead> ahead_;  // null: the files are on disk

  std::mutex mutex_;                              // of all below, of `ended_`, and of the observer
  bool rotation_fits_ = false;                    // a head that has arrived
  std::size_t misfit_width_ = 0;                  // of the latest head that the rotation did not fit
  std::set<std::filesystem::path> said_dropped_;  // files whose dropped rows were told
  bool said_no_key_examples_ = false;
  bool said_no_query_examples_ = false;
};

}  // namespace attention_plasticity
