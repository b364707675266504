#include "attention_plasticity/hub/downloads.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "attention_plasticity/base/descriptor.h"
#include "attention_plasticity/base/disk_space.h"
#include "attention_plasticity/base/folder_lock.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr int most_wrong_digests = 3;

std::uint64_t size_or_zero(const fs::path& file) {
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(file, missing);
  return missing ? 0 : size;
}

// The partial file of a blob and the digest of its bytes so far.
class PartialBlob {
 public:
  PartialBlob(const fs::path& path, const RepoFile& file, const std::stop_token& stop)
      : path_(path), file_(file), digest_(file), content_(path, O_RDWR | O_CREAT, path) {
    read_earlier_bytes(stop);
  }

  std::uint64_t size() const { return size_; }
  bool is_whole() const { return size_ == file_.size; }

  void add(std::string_view bytes) {
    digest_.add(bytes);
    size_ += bytes.size();
    content_.write(bytes);
  }

  void clear() {
    if (::ftruncate(content_.number(), 0) != 0 || ::lseek(content_.number(), 0, SEEK_SET) < 0) {
      fail_output(path_, "empty this file", errno);
    }
    digest_.reset();
    size_ = 0;
  }

  // To be called once, on a whole blob: it ends the digest.
  bool is_right() { return digest_.finish() == file_.etag; }

  void move_to(const fs::path& blob) const {
    content_.sync();
    std::error_code failed;
    fs::rename(path_, blob, failed);
    if (failed) throw Error(ErrorKind::output, failed.message(), blob.string());
  }

 private:
  // Hashes the bytes that an earlier run left. A partial file that is longer than the file is discarded.
  void read_earlier_bytes(const std::stop_token& stop) {
    const std::uint64_t earlier = size_or_zero(path_);
    if (earlier > file_.size) return clear();
    std::vector<char> buffer(std::size_t{1} << 20U);
    while (size_ < earlier) {
      throw_if_stopped(stop);
      const ssize_t count = ::read(content_.number(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_output(path_, "read this file", errno);
      if (count == 0) return;
      digest_.add({buffer.data(), static_cast<std::size_t>(count)});
      size_ += static_cast<std::uint64_t>(count);
    }
  }

  fs::path path_;
  const RepoFile& file_;
  ContentDigest digest_;
  Descriptor content_;
  std::uint64_t size_ = 0;
};

// Writes the body of one attempt to the blob.
class Arrival {
 public:
  Arrival(PartialBlob& blob, const RepoFile& file, const FileObserver& observer)
      : blob_(blob), file_(file), observer_(observer) {}

  void take(const HttpResponse& head, std::string_view bytes) {
    if (!is_begun_) begin(head);
    is_begun_ = true;
    if (blob_.size() + bytes.size() > file_.size) {
      throw ConnectionFailure(fmt::format("more than the {} bytes of the file arrived", file_.size), false);
    }
    blob_.add(bytes);
    observer_.arrived(static_cast<std::int64_t>(bytes.size()));
  }

 private:
  // Checks by the headers that the body continues the blob, or restarts the blob.
  void begin(const HttpResponse& head) {
    const std::uint64_t first = head.status == 206 ? blob_.size() : 0;
    const std::string_view range = header_value(head.headers, "content-range");
    if (head.status == 206 && !range.starts_with(fmt::format("bytes {}-", first))) {
      throw ConnectionFailure(range.empty() ? "a part of the file arrived without a Content-Range that says which part"
                                            : "the server sent another part of the file than was requested",
                              false);
    }
    std::optional<std::uint64_t> total;  // nothing when the server does not send the length
    const std::string_view length = header_value(head.headers, "content-length");
    std::uint64_t rest = 0;
    if (std::from_chars(length.data(), length.data() + length.size(), rest).ec == std::errc()) total = first + rest;
    if (header_value(head.headers, "content-type").starts_with("text/html") && total != file_.size) {
      throw ConnectionFailure("a web page arrived in place of the file; a proxy or a login page may have sent it",
                              false);
    }
    if (total && *total > file_.size) {
      throw ConnectionFailure(fmt::format("a file of {} bytes arrived in place of {}", *total, file_.size), false);
    }
    if (first == blob_.size()) return;
    // The server does not support ranges and sends the whole file again.
    observer_.arrived(-static_cast<std::int64_t>(blob_.size()));
    blob_.clear();
  }

  PartialBlob& blob_;
  const RepoFile& file_;
  const FileObserver& observer_;
  bool is_begun_ = false;
};

void fetch(HubClient& client, const std::string& commit, const RepoFile& file, PartialBlob& blob,
           const FileObserver& observer, const std::stop_token& stop) {
  const int attempts = client.settings().attempts;
  Patience patience(client.settings(), attempts);
  std::uint64_t furthest = blob.size();
  int wrong_digests = 0;
  while (true) {
    FailedAttempt failed;
    if (!blob.is_whole()) {
      Arrival arrival(blob, file, observer);
      const auto reason = client.try_file(
          commit, file, blob.size(),
          [&](const HttpResponse& head, std::string_view bytes) { arrival.take(head, bytes); }, stop);
      if (blob.size() > furthest) patience.renew(attempts);
      furthest = std::max(furthest, blob.size());
      if (reason) failed = *reason;
    }
    if (blob.is_whole()) {
      if (blob.is_right()) return;
      observer.arrived(-static_cast<std::int64_t>(blob.size()));
      blob.clear();
      if (++wrong_digests == most_wrong_digests) {
        throw Error(
            ErrorKind::network,
            fmt::format("its checksum was wrong {} times: the bytes that arrive are not those that the Hub lists; "
                        "try again later, or look for a proxy that changes files",
                        wrong_digests),
            file.path);
      }
      failed.reason = "its checksum is wrong";
    } else if (failed.reason.empty()) {
      failed.reason = fmt::format("only {} of {} bytes arrived", blob.size(), file.size);
    }
    observer.note(fmt::format("{}: {}; trying again", file.path, failed.reason));
    if (!patience.wait(failed, stop)) {
      if (failed.verdict) throw Error(*failed.verdict);
      throw Error(
          ErrorKind::network,
          fmt::format("could not be fetched: {}; the bytes that arrived are kept, run again to resume", failed.reason),
          file.path);
    }
  }
}

// A listing may name any sizes: their sum must not begin at 0 again.
std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return a > most - b ? most : a + b;
}

}  // namespace

void download_file(HubClient& client, const HubCache& cache, const std::string& commit, const RepoFile& file,
                   const FileObserver& observer, const std::stop_token& stop) {
  const FileLock lock(cache.lock_file(file.etag), stop);
  // Another program, or a file with the same content, may have brought the blob while we waited for the lock.
  const bool is_new = !cache.holds_file(commit, file.path) && !cache.holds_blob(file.etag);
  if (is_new) {
    PartialBlob blob(cache.partial_blob(file.etag), file, stop);
    observer.arrived(static_cast<std::int64_t>(blob.size()));
    fetch(client, commit, file, blob, observer, stop);
    blob.move_to(cache.blob(file.etag));
  } else {
    observer.arrived(static_cast<std::int64_t>(file.size));
  }
  if (!cache.holds_file(commit, file.path)) cache.place(file.etag, commit, file.path, is_new);
}

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
    throw_if_stopped(giving_up_.get_token());
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
