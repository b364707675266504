#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "attention_plasticity/hub/snapshot.h"

namespace attention_plasticity {

class HubClient;

struct DownloadProgress {
  std::size_t files = 0;  ///< that are there
  std::size_t all_files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t all_bytes = 0;
  std::uint64_t bytes_before = 0;  ///< of these, left by an earlier run: they say nothing of the rate
};

/// How downloads tell what happens. Calls come from their threads, one at a time.
struct DownloadObserver {
  std::function<void(const RepoFile&, const DownloadProgress&)> arrived;
  std::function<void(const std::string&)> note;  ///< one line for the user
};

/// Throws Error(output) when the files do not fit on the disk of the cache.
void check_disk_space(const Snapshot& snapshot, const std::vector<RepoFile>& files);

/// Files on their way into the cache, in their order, several at once, on threads of its own. The first failure ends
/// them all; partial files stay.
class Downloads {
 public:
  Downloads(const Snapshot& snapshot, std::vector<RepoFile> files, int workers, DownloadObserver observer,
            const std::stop_token& stop);
  /// Gives up what has not arrived.
  ~Downloads();
  Downloads(const Downloads&) = delete;
  Downloads& operator=(const Downloads&) = delete;

  /// Until the file is there; at once for one that was not missing. Throws what ended the downloads, or Stopped.
  void wait_for(const std::string& path);
  /// Until all are there or `time` has passed: whether they are. Throws likewise.
  bool wait_for_all(std::chrono::milliseconds time);
  DownloadProgress progress() const;

 private:
  bool start_thread();
  void serve();
  void fetch(HubClient& client, const RepoFile& file);
  void throw_if_over() const;

  const Snapshot& snapshot_;
  std::vector<RepoFile> files_;
  DownloadObserver observer_;
  std::stop_source giving_up_;
  std::stop_callback<std::function<void()>> on_stop_;

  mutable std::mutex mutex_;  // of all below, and of observer_
  std::condition_variable changed_;
  std::set<std::string> absent_;
  std::size_t next_ = 0;
  DownloadProgress progress_;
  std::exception_ptr failure_;

  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace attention_plasticity
