#include "attention_plasticity/cli/fetching.h"

#include <fmt/format.h>

#include <cstdint>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/machine.h"

namespace attention_plasticity {

HubSettings process_hub_settings() { return hub_settings(environment_variable); }

std::string download_figures(const DownloadProgress& progress, double seconds) {
  std::string figures = fmt::format("{}/{} files, {} of {}", progress.files, progress.all_files,
                                    size_text(progress.bytes), size_text(progress.all_bytes));
  const auto fetched = static_cast<double>(progress.bytes) - static_cast<double>(progress.bytes_before);
  if (seconds <= 0 || fetched <= 0) return figures;
  const double rate = fetched / seconds;
  const auto left = static_cast<double>(progress.all_bytes) - static_cast<double>(progress.bytes);
  return fmt::format("{}, {}/s, {} left", figures, size_text(static_cast<std::uint64_t>(rate)),
                     duration_text(left / rate));
}

std::string DownloadDisplay::figures(const DownloadProgress& now) const {
  return download_figures(now, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
}

void DownloadDisplay::show_beside(const DownloadProgress& now) {
  progress_.set_status(now.files < now.all_files ? figures(now) : "");
}

void DownloadDisplay::show_alone(const DownloadProgress& now) {
  progress_.show(static_cast<double>(now.bytes) / static_cast<double>(now.all_bytes), figures(now));
}

}  // namespace attention_plasticity
