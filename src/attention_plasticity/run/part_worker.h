#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/head_outcome.h"
#include "attention_plasticity/run/prepared_run.h"

namespace attention_plasticity {

/// What a worker made of a part, and what the run is told of it.
struct MeasuredPart {
  std::vector<HeadOutcome> heads;
  std::vector<std::string> warnings;
  std::string simd;          ///< the instruction set of the worker
  bool other_times = false;  ///< files have other modification times than where the run was planned
  double cpu_s = 0;          ///< seconds of the processor
  std::uint64_t peak_rss_bytes = 0;

  /// As bytes, exact to the last bit.
  std::string bytes() const;
  /// Throws Error(input) for bytes that are damaged or of another version of the program.
  static MeasuredPart of_bytes(std::string_view bytes);
};

/// Measures parts of a run that was planned elsewhere. It knows the run by its manifest alone and opens no file but
/// those of the part. One object serves any number of calls, one after the other.
class PartWorker {
 public:
  /// Throws Error(usage), with what differs, when the run was planned by another version of the program, and
  /// Error(input) when this is not a manifest.
  explicit PartWorker(std::string_view manifest);

  /// Measures heads of the run, on one thread. A head that cannot be measured has its failure; so has one whose files
  /// in a store are not those that the run was planned with. Throws Error(input) when this machine does not see the
  /// dump on disk, or has another one in its place, Error of the kinds access and network when a store does not answer,
  /// and Stopped. `cpu_s` and `peak_rss_bytes` are left to the caller, since the library reads no clock.
  MeasuredPart measure(std::span<const HeadId> heads, const std::stop_token& stop = {});

 private:
  const RecordedFile* known_file(const std::filesystem::path& file) const;
  std::optional<FileIdentity> listed_file(const std::filesystem::path& file) const;
  bool check_file(const std::filesystem::path& file) const;
  void show_as_planned(HeadOutcome& outcome) const;

  PreparedRun prepared_;
  RunConfig config_;
  std::filesystem::path folder_;                     // of the heads, on this machine
  std::filesystem::path planned_folder_;             // the same, as the run names it
  std::map<std::string, RecordedFile> known_files_;  // by name
  std::map<HeadId, std::size_t> places_;             // of tasks
};

}  // namespace attention_plasticity
