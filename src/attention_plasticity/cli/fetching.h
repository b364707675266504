#pragma once

#include <chrono>
#include <string>

#include "attention_plasticity/cli/progress.h"
#include "attention_plasticity/hub.h"

namespace attention_plasticity {

/// The settings of the Hub in this process's environment.
HubSettings process_hub_settings();

/// Such as "3/80 files, 1.2 MiB of 3.4 GiB, 45.3 MiB/s, 0:50 left".
std::string download_figures(const DownloadProgress& progress, double seconds);

/// Shows how far downloads are.
class DownloadDisplay {
 public:
  explicit DownloadDisplay(Progress& progress) : progress_(progress) {}

  /// As text behind the bar of other work; the text disappears when all files are there.
  void show_beside(const DownloadProgress& now);
  /// As a bar of its own.
  void show_alone(const DownloadProgress& now);

 private:
  std::string figures(const DownloadProgress& now) const;

  Progress& progress_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace attention_plasticity
