#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/export.h"
#include "attention_plasticity/head_result.h"
#include "attention_plasticity/hub.h"
#include "attention_plasticity/run_options.h"
#include "attention_plasticity/tables.h"

/// @file
/// The analysis of a whole dump, from disk or from the Hub, in one call.

namespace attention_plasticity {

/// A head that could not be analysed; the others are not touched by it.
struct HeadFailure {
  HeadId head;          ///< which
  std::string file;     ///< the file at fault
  std::string message;  ///< one line
};

/// One head ended.
struct HeadEvent {
  HeadId head = {};                      ///< which
  const HeadResult* result = nullptr;    ///< null when it failed
  const HeadFailure* failure = nullptr;  ///< null when it did not
  std::size_t ended = 0;                 ///< heads done or failed so far, this one included
  std::size_t total = 0;                 ///< heads of the run
};

/// How a run tells what happens. A function that is not set is not called. Calls come from threads of the run, one at a
/// time; what a function throws ends the process.
struct RunObserver {
  std::function<void(const HeadEvent&)> head_ended = {};          ///< a head was analysed, or failed
  std::function<void(const std::string&)> note = {};              ///< one line for the user
  std::function<void(const std::string&)> warning = {};           ///< one line on what may make results wrong
  std::function<void(const DownloadProgress&)> downloading = {};  ///< several times a second while files are in flight
};

/// A measure over the heads of a model that have a value.
struct ModelMean {
  std::size_t heads = 0;  ///< with a value
  double mean;            ///< NaN when no head has a value
  double error;           ///< standard error over groups of examples; NaN when it is not known
};

/// What one shard of a run cost.
struct ShardResources {
  std::size_t shard = 0;             ///< its number, from 1
  std::string host;                  ///< the machine that measured it
  int workers = 0;                   ///< as in RunResources
  double wall_s = 0;                 ///< likewise
  double cpu_s = 0;                  ///< likewise
  std::uint64_t peak_rss_bytes = 0;  ///< likewise
};

/// What the run cost. The caller measures it, since the library reads no clock.
struct RunResources {
  int workers = 0;                   ///< threads
  double wall_s = 0;                 ///< seconds from start to end
  double cpu_s = 0;                  ///< seconds of all threads
  std::uint64_t peak_rss_bytes = 0;  ///< largest memory of the process
  /// Of a run that was put together from shards, by number; `cpu_s` is then the sum of all, `peak_rss_bytes` the
  /// largest.
  std::vector<ShardResources> shards = {};
};

/// How results are written.
struct SaveOptions {
  bool overwrite = false;       ///< replace the results of another dump or model
  RunResources resources = {};  ///< what run.json says of the cost
};

struct DumpRunState;
class AnalyzedDump;

/// Analyses the heads of a dump. Heads of the Hub are analysed while later ones are still downloaded.
///
/// Results do not depend on the number of workers. A head that cannot be read is one of the failures() and ends nothing
/// else. A stop request ends the run within a second or so; the finished heads are returned.
///
/// Throws Error(usage) for options out of range or that contradict each other or the dump, Error(input) when there is
/// no dump or it has none of the selected heads, Error(access), Error(network) and Error(output) as downloads fail, and
/// std::bad_alloc. Thread-safe: runs share nothing but kept memory (memory.h).
AP_API AnalyzedDump analyze_dump(const DumpSource& source, const RunOptions& options = {},
                                 const RunObserver& observer = {}, const std::stop_token& stop = {});

/// The results of a dump. Copies share them; they never change, so any number of threads may read one object.
class AP_API AnalyzedDump {
 public:
  /// The model's name, from the dump's metadata, else from its address. Thread-safe.
  const std::string& model_name() const;
  /// The heads that were analysed, by layer and query head. Thread-safe.
  const std::vector<HeadResult>& heads() const;
  /// The heads that failed, likewise. Thread-safe.
  const std::vector<HeadFailure>& failures() const;
  /// Selected heads that the dump does not have. Thread-safe.
  std::size_t not_captured() const;
  /// Whether a stop was requested before all was measured. Thread-safe.
  bool interrupted() const;

  /// The mean over heads of a column of head_metrics.csv; its error is known for ap_overall and ap_exact. Throws
  /// Error(usage) for a column that does not exist. Thread-safe.
  ModelMean model_mean(std::string_view column) const;
  /// A table with the columns that were measured. One that was not measured has no rows and no columns. Throws
  /// std::bad_alloc only. Thread-safe.
  Table table(TableId table) const;
  /// Writes the tables and run.json into a folder, all or none, and returns their paths. An interrupted run writes
  /// `*.partial.csv` and `run.partial.json`. Throws Error(usage) when the folder holds the results of another dump or
  /// model, unless `overwrite` is set, and Error(output) when a file cannot be written, or while another thread or
  /// process writes results into the folder. Thread-safe.
  std::vector<std::filesystem::path> save(const std::filesystem::path& folder, const SaveOptions& options = {}) const;

 private:
  explicit AnalyzedDump(std::shared_ptr<const DumpRunState> state);
  friend struct DumpRunState;

  std::shared_ptr<const DumpRunState> state_;
};

}  // namespace attention_plasticity
