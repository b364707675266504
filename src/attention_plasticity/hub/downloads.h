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

#include "attention_plasticity/hub.h"
#include "attention_plasticity/hub/hub_client.h"
#include "attention_plasticity/hub/snapshot.h"

namespace attention_plasticity {

/// Gets the events of one download, on the thread of the download.
struct FileObserver {
  std::function<void(std::int64_t bytes)> arrived;  ///< Negative when a restart discards bytes.
  std::function<void(const std::string&)> note;     ///< one line for the user about an attempt that failed
};

/// Downloads one file of a commit into the cache, unless the cache has it. Bytes go to a partial file, which a later
/// call or a later run resumes. The file appears in the cache only after its digest was checked. Throws Error(network)
/// when no attempt is left or the digest is wrong repeatedly, Error(output) when the disk is full, and Stopped.
void download_file(HubClient& client, const HubCache& cache, const std::string& commit, const RepoFile& file,
                   const FileObserver& observer, const std::stop_token& stop);

/// Gets the events of downloads. A function that is not set is not called. Called by the threads of the downloads, one
/// call at a time.
struct DownloadObserver {
  std::function<void(const RepoFile&, const DownloadProgress&)> arrived;  ///< a file is complete
  std::function<void(const std::string&)> note;                           ///< one line for the user
};

/// Throws Error(output) when the files do not fit on the disk of the cache.
void check_disk_space(const Snapshot& snapshot, const std::vector<RepoFile>& files);

/// Downloads files into the cache on threads of its own: starts them in the given order, `workers` of them at a time.
/// The first failure ends all downloads; partial files stay for the next run.
class Downloads {
 public:
  Downloads(const Snapshot& snapshot, std::vector<RepoFile> files, int workers, DownloadObserver observer,
            const std::stop_token& stop);
  /// Stops the downloads in flight.
  ~Downloads();
  Downloads(const Downloads&) = delete;
  Downloads& operator=(const Downloads&) = delete;

  /// Waits for a file. Returns at once for a file that is not among `files`. Throws the failure that ended the
  /// downloads, or Stopped.
  void wait_for(const std::string& path);
  /// Waits for all files, at most for `time`. Returns whether all are complete. Throws as wait_for does.
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

  mutable std::mutex mutex_;  // guards observer_ and the members below, except threads_
  std::condition_variable changed_;
  std::set<std::string> absent_;
  std::size_t next_ = 0;
  DownloadProgress progress_;
  std::exception_ptr failure_;

  std::vector<std::jthread> threads_;  // the last member: the threads use all others
};

}  // namespace attention_plasticity
