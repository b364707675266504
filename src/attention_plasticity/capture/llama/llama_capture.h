#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "attention_plasticity/capture/attention_labels.h"
#include "attention_plasticity/capture/captured_rows.h"
#include "attention_plasticity/capture/dump_writer.h"
#include "attention_plasticity/capture/llama/llama_source.h"

namespace attention_plasticity {

/// How far a capture is.
struct CapturedSoFar {
  std::size_t documents = 0;  ///< of `all_documents`, with those of an earlier start
  std::size_t all_documents = 0;
  std::uint64_t tokens = 0;  ///< read since this start
  std::uint64_t tokens_left = 0;
};
using CaptureObserver = std::function<void(const CapturedSoFar&)>;

/// Reads the documents that the writer does not have yet, and hands over their rows. False: `stop` was requested.
bool capture_documents(LlamaSource& source, DumpWriter& writer, const CaptureObserver& observer,
                       const std::stop_token& stop);
/// The same for rows in memory.
bool capture_documents(LlamaSource& source, CapturedRows& rows, const CaptureObserver& observer,
                       const std::stop_token& stop);

/// Labels of all heads of the model, by its own attention to repeated sequences and to the first documents that are
/// long enough; none: `stop` was requested. `step` is told how many of how many texts are read.
std::optional<AttentionLabels> label_heads(LlamaSource& source,
                                           const std::function<void(std::size_t, std::size_t)>& step,
                                           const std::stop_token& stop);

/// Documents that labels are taken from; with fewer than AttentionLabels::least_documents some columns are empty.
std::size_t label_documents(const LlamaSource& source);

}  // namespace attention_plasticity
