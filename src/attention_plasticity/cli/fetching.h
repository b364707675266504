#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "attention_plasticity/cli/progress.h"
#include "attention_plasticity/hub/downloads.h"
#include "attention_plasticity/run/hub_dump.h"

namespace attention_plasticity {

/// The Hub as this process's environment has it.
HubSettings process_hub_settings();

/// 80 files of org/name at main (commit 0123456789ab), 3.4 GiB.
std::string described_files(const Snapshot& snapshot, const std::vector<RepoFile>& files);

/// 3/80 files, 1.2 MiB of 3.4 GiB, 45.3 MiB/s, 0:50 left.
std::string download_figures(const DownloadProgress& progress, double seconds);

/// Files on their way from the Hub, and the telling of it.
class Fetching {
 public:
  /// How it is told: for itself, with a line for each file where there is no bar, or behind the bar of what else goes
  /// on.
  enum class Shown { alone, beside };

  Fetching(const HubDump& dump, std::vector<RepoFile> files, int workers, Progress& progress, Shown shown,
           const std::stop_token& stop);

  /// Until the files of a task are there.
  void wait_for(const HeadTask& task);
  /// Until all are, with a bar of their own.
  void wait_for_all();

 private:
  void show_status(const std::stop_token& done);
  std::string figures() const;

  const HubDump& dump_;
  Progress& progress_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Downloads downloads_;
  std::jthread status_;  // last: it uses all of the above
};

}  // namespace attention_plasticity
