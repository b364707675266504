#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <tuple>
#include <vector>

#include "attention_plasticity/analysis/kept_rows.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/rows.h"
#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/head_outcome.h"
#include "attention_plasticity/run/head_pass.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// The rows of a head, which others own.
struct ArrayHead {
  HeadId head;
  RowsView queries;
  RowsView keys;
};

/// "queries" or "keys".
const char* side_text(Side side);

/// The rows of one side of a head that are used, checked. `read` gets what a file would tell. Throws Error(input).
KeptRows kept_array_rows(const RowsView& rows, Side side, const RunConfig& config, FileRead& read);

/// One pass over heads in memory, as HeadPass is for the heads of a dump.
class ArrayPass {
 public:
  ArrayPass(std::span<const ArrayHead* const> heads, const PreparedRun& prepared, const RunConfig& config,
            RotationEvidence* evidence, std::span<const std::uint64_t> jackknife_examples);

  /// Hands over the outcome of each head, by its number; one at a time.
  void run(int workers, std::uint64_t held_bytes, const std::stop_token& stop,
           const std::function<void(std::size_t, HeadOutcome)>& ended);

 private:
  struct Place {
    std::size_t number;
    const ArrayHead* head;
  };
  // Heads with the same keys adjoin.
  static std::tuple<int, int, int> by_keys(const HeadId& head) { return {head.layer, head.k_head, head.q_head}; }
  const Place& at(const HeadTask& task) const { return places_.at(by_keys(task.head)); }

  KeptRows rows(const RowsView& given, Side side, const HeadKey& head, FileRead& read) const;
  LoadedKeys load(const HeadTask& task) const;
  HeadOutcome analyse(const ArrayHead& head, const LoadedKeys* keys, const std::exception_ptr& key_failure) const;

  const PreparedRun& prepared_;
  const RunConfig& config_;
  RotationEvidence* evidence_;  // null: the rotation is not checked
  std::span<const std::uint64_t> jackknife_examples_;
  std::map<std::tuple<int, int, int>, Place> places_;
  std::vector<HeadTask> tasks_;  // in the order of places_
};

}  // namespace attention_plasticity
