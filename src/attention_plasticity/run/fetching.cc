#include "attention_plasticity/run/fetching.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace attention_plasticity {
namespace {

constexpr auto between_looks = std::chrono::milliseconds(100);

}  // namespace

Fetching::Fetching(const HubDump& dump, std::vector<RepoFile> files, int workers, DownloadObserver observer,
                   const std::stop_token& stop)
    : dump_(dump), downloads_(dump.snapshot(), std::move(files), workers, std::move(observer), stop) {}

void Fetching::wait_for(const HeadTask& task) {
  for (const std::string& path : dump_.files_of(task)) downloads_.wait_for(path);
}

void Fetching::wait_for_all(const std::function<void(const DownloadProgress&)>& look) {
  while (!downloads_.wait_for_all(between_looks)) look(downloads_.progress());
}

void watch(const Fetching& fetching, const std::function<void(const DownloadProgress&)>& look,
           const std::stop_token& done) {
  while (!done.stop_requested()) {
    const DownloadProgress now = fetching.progress();
    if (now.files == now.all_files) break;
    look(now);
    std::this_thread::sleep_for(between_looks);
  }
  look(fetching.progress());
}

}  // namespace attention_plasticity
