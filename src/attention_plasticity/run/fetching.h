#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "attention_plasticity/hub/downloads.h"
#include "attention_plasticity/run/hub_dump.h"

namespace attention_plasticity {

/// Downloads the files of a dump's heads.
class Fetching {
 public:
  /// `dump` must outlive it.
  Fetching(const HubDump& dump, std::vector<RepoFile> files, int workers, DownloadObserver observer,
           const std::stop_token& stop);

  /// Waits until the files of a task are on disk. Throws as Downloads::wait_for does.
  void wait_for(const HeadTask& task);
  /// Waits until all files are on disk, and calls `look` several times a second meanwhile. Throws as wait_for does.
  void wait_for_all(const std::function<void(const DownloadProgress&)>& look);
  DownloadProgress progress() const { return downloads_.progress(); }

 private:
  const HubDump& dump_;
  Downloads downloads_;
};

/// Calls `look` with the progress of downloads several times a second, until all are complete, at the end, or the stop
/// token asks for it.
void watch(const Fetching& fetching, const std::function<void(const DownloadProgress&)>& look,
           const std::stop_token& done);

}  // namespace attention_plasticity
