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

/// The settings of the Hub in this process's environment.
HubSettings process_hub_settings();

/// Such as "80 files of org/name at main (commit 0123456789ab), 3.4 GiB".
std::string described_files(const Snapshot& snapshot, const std::vector<RepoFile>& files);

/// Such as "3/80 files, 1.2 MiB of 3.4 GiB, 45.3 MiB/s, 0:50 left".
std::string download_figures(const DownloadProgress& progress, double seconds);

/// Downloads files from the Hub and shows the progress.
class Fetching {
 public:
  enum class Shown {
    alone,   ///< a bar of its own or, where there is no bar, a line for each file
    beside,  ///< text behind the bar of other work
  };

  Fetching(const HubDump& dump, std::vector<RepoFile> files, int workers, Progress& progress, Shown shown,
           const std::stop_token& stop);

  /// Waits until the files of a task are on disk.
  void wait_for(const HeadTask& task);
  /// Waits until all files are on disk, and shows a bar of their own.
  void wait_for_all();

 private:
  void show_status(const std::stop_token& done);
  std::string figures() const;

  const HubDump& dump_;
  Progress& progress_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Downloads downloads_;
  std::jthread status_;  // last member: it uses the others
};

}  // namespace attention_plasticity
