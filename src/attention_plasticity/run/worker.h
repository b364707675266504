#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/measure/head_outcome.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/source/prepared_run.h"

namespace attention_plasticity {

/// The outcomes of a KV group that a worker measured, with what the run reports of the worker.
struct MeasuredGroup {
  std::vector<HeadOutcome> heads;
  std::string simd;          ///< the instruction set of the worker
  bool other_times = false;  ///< files have other modification times than where the run was prepared
  double cpu_s = 0;          ///< seconds of the processor
  std::uint64_t peak_rss_bytes = 0;

  /// Writes a line of JSON with the sizes of the records, then the records (outcome_bytes.h).
  std::string bytes() const;
  /// Throws Error(input) for bytes that are damaged or of another version of the program.
  static MeasuredGroup of_bytes(std::string_view bytes);
};

/// Measures heads of a run that another process prepared. It knows the run by its manifest alone and opens no file but
/// those of the heads. One object serves any number of calls, one after the other.
class HeadWorker {
 public:
  /// Throws Error(usage), with what differs, when the run was prepared by another version of the program, and
  /// Error(input) when this is not a manifest.
  explicit HeadWorker(std::string_view manifest);

  /// Measures heads of the run, on one thread. A head that cannot be measured has its failure; so has one whose files
  /// in a store are not those that the run was prepared with. Throws Error(input) when this machine does not see the
  /// dump on disk, or has another one in its place, Error of the kinds access and network when a store does not answer,
  /// and Stopped. `cpu_s` and `peak_rss_bytes` are left to the caller, since the library reads no clock.
  MeasuredGroup measure(std::span<const HeadId> heads, const std::stop_token& stop = {});

 private:
  const RecordedFile* known_file(const std::filesystem::path& file) const;
  bool check_file(const std::filesystem::path& file) const;
  void show_as_prepared(HeadOutcome& outcome) const;

  PreparedRun prepared_;
  RunConfig config_;
  std::shared_ptr<FileSource> source_;
  std::filesystem::path prepared_folder_;            // of the heads, as the run names it
  std::map<std::string, RecordedFile> known_files_;  // by name
};

}  // namespace attention_plasticity
