#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/options/config.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/source/prepared_run.h"

namespace attention_plasticity {

void write_text(const std::filesystem::path& file, const std::string& text);
std::string read_text(const std::filesystem::path& file);

/// Rows of three buckets, four for each example and bucket: random vectors of 4 components that drift with position.
HeadRows small_rows(std::uint64_t seed, const std::vector<std::uint64_t>& examples = {0, 1, 2, 3, 4, 5});

using Flags = std::initializer_list<std::pair<std::string, std::string>>;

/// A dump in a folder of its own that holds all heads of a small model, until a test changes it.
class SmallDump {
 public:
  SmallDump(int layers, int q_heads, int k_heads);

  std::filesystem::path root() const { return folder_ / "dump"; }
  std::filesystem::path file(Side side, int layer, int head) const;
  void write(Side side, int layer, int head, const HeadRows& rows) const;
  void remove(Side side, int layer, int head) const;

  /// Where the runs of config() write; missing before.
  std::filesystem::path output() const { return folder_ / "out"; }
  /// A run over this dump, without position-exact plasticity unless `num_triples` says so.
  RunConfig config(Flags flags = {}) const;

 private:
  TemporaryFolder folder_;
};

/// What an observer was told.
struct Observed {
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  std::vector<std::pair<std::size_t, std::size_t>> ended;  ///< of how many

  RunObserver observer();
};

/// Runs a prepared run.
inline RunResult run_prepared(PreparedRun prepared, const RunConfig& config, const MeasureOptions& options,
                              const RunObserver& observer) {
  return run_analysis(prepared, config, options, observer);
}

/// The error of prepare_run.
struct Refusal {
  ErrorKind kind = ErrorKind::output;
  std::string message = "no error";
  std::string file;
};
Refusal refusal_of(const RunConfig& config);

/// A whole run, not stopped.
RunResult run_of(const RunConfig& config, int workers = 1);
RunResult run_of(const RunConfig& config, int workers, Observed& observed);

/// The heads of results or failures.
std::vector<HeadId> heads_of(const auto& outcomes) {
  std::vector<HeadId> heads;
  heads.reserve(outcomes.size());
  for (const auto& outcome : outcomes) heads.push_back(outcome.head);
  return heads;
}

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace attention_plasticity
