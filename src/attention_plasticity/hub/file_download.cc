#include "attention_plasticity/hub/file_download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "attention_plasticity/base/folder_lock.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/content_digest.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr int most_wrong_digests = 3;

// The partial file of a blob and the digest of its bytes so far.
class PartialBlob {
 public:
  PartialBlob(const fs::path& path, const RepoFile& file, const std::stop_token& stop)
      : path_(path), file_(file), digest_(file) {
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail();
    try {
      read_earlier_bytes(stop);
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
  }
  ~PartialBlob() { ::close(descriptor_); }
  PartialBlob(const PartialBlob&) = delete;
  PartialBlob& operator=(const PartialBlob&) = delete;

  std::uint64_t size() const { return size_; }
  bool is_whole() const { return size_ == file_.size; }

  void add(std::string_view bytes) {
    digest_.add(bytes);
    size_ += bytes.size();
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void clear() {
    if (::ftruncate(descriptor_, 0) != 0 || ::lseek(descriptor_, 0, SEEK_SET) < 0) fail();
    digest_.reset();
    size_ = 0;
  }

  // To be called once, on a whole blob: it ends the digest.
  bool is_right() { return digest_.finish() == file_.etag; }

  void move_to(const fs::path& blob) const {
    if (::fdatasync(descriptor_) != 0) fail();
    std::error_code failed;
    fs::rename(path_, blob, failed);
    if (failed) throw Error(ErrorKind::output, failed.message(), blob.string());
  }

 private:
  [[noreturn]] void fail() const {
    const int reason = errno;
    const std::string message = std::generic_category().message(reason);
    if (reason == ENOSPC || reason == EDQUOT) {
      throw Error(ErrorKind::output,
                  fmt::format("{}: {} of {} bytes of {} are kept; make room and run again", message, size_, file_.size,
                              file_.path),
                  path_.string());
    }
    throw Error(ErrorKind::output, message, path_.string());
  }

  // Hashes the bytes that an earlier run left. A partial file that is longer than the file is discarded.
  void read_earlier_bytes(const std::stop_token& stop) {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) fail();
    if (static_cast<std::uint64_t>(status.st_size) > file_.size) {
      clear();
      return;
    }
    std::vector<char> buffer(std::size_t{1} << 20U);
    while (size_ < static_cast<std::uint64_t>(status.st_size)) {
      throw_if_stopped(stop);
      const ssize_t count = ::read(descriptor_, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail();
      if (count == 0) return;
      digest_.add({buffer.data(), static_cast<std::size_t>(count)});
      size_ += static_cast<std::uint64_t>(count);
    }
  }

  fs::path path_;
  const RepoFile& file_;
  ContentDigest digest_;
  int descriptor_ = -1;
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
    std::uint64_t first = 0;
    std::optional<std::uint64_t> total;
    if (head.status == 206) {
      const auto header = head.headers.find("Content-Range");
      const auto range = header ? parse_content_range(*header) : std::nullopt;
      if (!range)
        throw ConnectionFailure("a part of the file arrived without a Content-Range that says which part", false);
      first = range->first;
      total = range->total;
    } else if (const auto length = head.headers.find("Content-Length")) {
      total = parse_size(*length);
    }
    if (const auto type = head.headers.find("Content-Type");
        type && type->starts_with("text/html") && total != file_.size) {
      throw ConnectionFailure("a web page arrived in place of the file; a proxy or a login page may have sent it",
                              false);
    }
    if (total && *total > file_.size) {
      throw ConnectionFailure(fmt::format("a file of {} bytes arrived in place of {}", *total, file_.size), false);
    }
    if (first == blob_.size()) return;
    if (first != 0) throw ConnectionFailure("the server sent another part of the file than was requested", false);
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

}  // namespace attention_plasticity
