#include "attention_plasticity/cli/fetching.h"

#include <fmt/format.h>

#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/machine.h"

namespace attention_plasticity {
namespace {

constexpr auto between_looks = std::chrono::milliseconds(100);

}  // namespace

HubSettings process_hub_settings() { return hub_settings(environment_variable); }

std::string described_files(const Snapshot& snapshot, const std::vector<RepoFile>& files) {
  std::uint64_t bytes = 0;
  for (const RepoFile& file : files) bytes += file.size;
  return fmt::format("{} {} of {} at {} (commit {}), {}", files.size(), files.size() == 1 ? "file" : "files",
                     snapshot.repo(), snapshot.revision(), snapshot.commit().substr(0, 12), size_text(bytes));
}

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

Fetching::Fetching(const HubDump& dump, std::vector<RepoFile> files, int workers, Progress& progress, Shown shown,
                   const std::stop_token& stop)
    : dump_(dump),
      progress_(progress),
      downloads_(
          dump.snapshot(), std::move(files), workers,
          {[&progress, shown](const RepoFile& file, const DownloadProgress& now) {
             if (shown == Shown::beside) return;
             progress.line(fmt::format("[{}/{}] {} {}", now.files, now.all_files, file.path, size_text(file.size)));
           },
           [&progress](const std::string& note) { progress.note(note); }},
          stop) {
  if (shown == Shown::beside) status_ = std::jthread([this](const std::stop_token& done) { show_status(done); });
}

std::string Fetching::figures() const {
  return download_figures(downloads_.progress(),
                          std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
}

void Fetching::show_status(const std::stop_token& done) {
  const auto is_unfinished = [this] {
    const DownloadProgress now = downloads_.progress();
    return now.files < now.all_files;
  };
  while (!done.stop_requested() && is_unfinished()) {
    progress_.set_status(figures());
    std::this_thread::sleep_for(between_looks);
  }
  progress_.set_status("");
}

void Fetching::wait_for(const HeadTask& task) {
  for (const std::string& path : dump_.files_of(task)) downloads_.wait_for(path);
}

void Fetching::wait_for_all() {
  while (!downloads_.wait_for_all(between_looks)) {
    const DownloadProgress now = downloads_.progress();
    progress_.show(static_cast<double>(now.bytes) / static_cast<double>(now.all_bytes), figures());
  }
}

}  // namespace attention_plasticity
