#include "attention_plasticity/hub/downloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "attention_plasticity/base/disk_space.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/file_download.h"
#include "attention_plasticity/hub/hub_client.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

std::uint64_t size_or_zero(const fs::path& file) {
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(file, missing);
  return missing ? 0 : size;
}

// A listing may name any sizes: their sum must not begin at 0 again.
std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return a > most - b ? most : a + b;
}

}  // namespace

void check_disk_space(const Snapshot& snapshot, const std::vector<RepoFile>& files) {
  std::uint64_t needed = 0;
  for (const RepoFile& file : files) {
    if (snapshot.cache().holds_blob(file.etag)) continue;
    const std::uint64_t missing =
        file.size - std::min(file.size, size_or_zero(snapshot.cache().partial_blob(file.etag)));
    needed = saturated_sum(needed, missing);
  }
  const std::uintmax_t available = free_disk_bytes(snapshot.cache().root());
  if (needed <= available) return;
  throw Error(
      ErrorKind::output,
      fmt::format("the files to fetch need {}, and {} are free; make room, pass `dataset_cache_dir` with a folder "
                  "on another disk, or select fewer `layers`",
                  size_text(needed), size_text(available)),
      snapshot.cache().root().string());
}

Downloads::Downloads(const Snapshot& snapshot, std::vector<RepoFile> files, int workers, DownloadObserver observer,
                     const std::stop_token& stop)
    : snapshot_(snapshot),
      files_(std::move(files)),
      observer_(std::move(observer)),
      on_stop_(stop, [this] { giving_up_.request_stop(); }) {
  progress_.all_files = files_.size();
  for (const RepoFile& file : files_) {
    absent_.insert(file.path);
    progress_.all_bytes = saturated_sum(progress_.all_bytes, file.size);
  }
  if (files_.empty()) return;
  snapshot_.cache().prepare();
  const auto count = std::min(files_.size(), static_cast<std::size_t>(std::max(1, workers)));
  threads_.reserve(count);
  while (threads_.size() < count && start_thread()) {
  }
}

// Returns false when the system allows no more threads. Throws when there is not even one.
bool Downloads::start_thread() {
  try {
    threads_.emplace_back([this] { serve(); });
    return true;
  } catch (const std::system_error&) {
    if (threads_.empty()) throw;
    return false;
  }
}

Downloads::~Downloads() { giving_up_.request_stop(); }

void Downloads::serve() {
  try {
    HubClient client(snapshot_.settings(), snapshot_.repo());
    while (!giving_up_.stop_requested()) {
      const RepoFile* file = nullptr;
      {
        const std::scoped_lock lock(mutex_);
        if (next_ == files_.size()) return;
        file = &files_[next_++];
      }
      fetch(client, *file);
    }
    throw_stopped();
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    giving_up_.request_stop();
    changed_.notify_all();
  }
}

void Downloads::fetch(HubClient& client, const RepoFile& file) {
  bool is_first = true;
  const FileObserver observer{[&](std::int64_t bytes) {
                                const std::scoped_lock lock(mutex_);
                                progress_.bytes += static_cast<std::uint64_t>(bytes);
                                if (is_first) progress_.bytes_before += static_cast<std::uint64_t>(bytes);
                                is_first = false;
                              },
                              [&](const std::string& line) {
                                const std::scoped_lock lock(mutex_);
                                if (observer_.note) observer_.note(line);
                              }};
  download_file(client, snapshot_.cache(), snapshot_.commit(), file, observer, giving_up_.get_token());
  const std::scoped_lock lock(mutex_);
  absent_.erase(file.path);
  ++progress_.files;
  if (observer_.arrived) observer_.arrived(file, progress_);
  changed_.notify_all();
}

void Downloads::throw_if_over() const {
  if (failure_) std::rethrow_exception(failure_);
}

void Downloads::wait_for(const std::string& path) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !absent_.contains(path) || failure_; });
  if (absent_.contains(path)) throw_if_over();
}

bool Downloads::wait_for_all(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [&] { return absent_.empty() || failure_; });
  if (absent_.empty()) return true;
  throw_if_over();
  return false;
}

DownloadProgress Downloads::progress() const {
  const std::scoped_lock lock(mutex_);
  return progress_;
}

}  // namespace attention_plasticity
