#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <vector>

#include "attention_plasticity/options/config.h"
#include "attention_plasticity/rows.h"
#include "attention_plasticity/source/head_source.h"

namespace attention_plasticity {

/// The rows of a head in memory that others own.
struct ArrayHead {
  HeadId head;
  RowsView queries;
  RowsView keys;
};

/// Heads whose rows come in passes, so that memory need not hold those of all heads at once.
struct ArrayPasses {
  struct Head {
    HeadId head;
    std::size_t width = 0;
  };
  /// The heads of each pass, ascending over all passes.
  std::vector<std::vector<Head>> heads;
  /// Returns the rows of the heads of a pass, in their order; they stay until the next call. Called once for each pass,
  /// in turn. An empty list ends the run.
  std::function<std::vector<ArrayHead>(std::size_t pass)> rows;
};

/// Heads in memory: arrays, or a capture that is running. The rows of a pass are asked for when all heads of the pass
/// before have ended.
class ArraySource : public HeadSource {
 public:
  ArraySource(ArrayPasses passes, NonFinite non_finite);

  void expect(const std::vector<HeadSide>& sides, const RunObserver& told, const std::stop_token& stop) override;
  bool is_awaited() const override { return passes_.heads.size() > 1; }
  void wait_for(HeadTask& task) override;
  SourceRows rows(const HeadSide& side) override;
  SourceDocuments documents(const HeadSide& side) override;
  HeadFileSize size(const HeadSide& side) override;
  void finish(const HeadTask& task) override;
  double largest_position(const std::stop_token& stop) override;

 private:
  void begin_pass_of(const HeadId& head);
  RowsView view(const HeadSide& side);

  ArrayPasses passes_;
  NonFinite non_finite_;
  std::map<HeadId, std::size_t> pass_of_;
  std::mutex mutex_;  // of all below
  std::condition_variable_any changed_;
  std::stop_token stop_;
  std::vector<ArrayHead> heads_;                           // of the pass that is there
  std::map<std::pair<Side, HeadNumber>, RowsView> views_;  // the same by side
  std::size_t begun_ = 0;                                  // passes
  std::size_t unfinished_ = 0;                             // heads of the pass that is there
};

}  // namespace attention_plasticity
