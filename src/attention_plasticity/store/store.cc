#include "attention_plasticity/store/store.h"

#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/s3fs.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/future.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <exception>
#include <iomanip>
#include <new>
#include <sstream>
#include <thread>
#include <utility>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/store/store_refusal.h"

namespace attention_plasticity {
namespace {

namespace afs = arrow::fs;
using std::chrono::milliseconds;

constexpr int most_attempts = 4;
constexpr double connect_timeout_s = 3;

std::atomic<bool> s3_was_started = false;

milliseconds pause_after(std::int64_t attempt) {
  milliseconds pause(100);
  for (std::int64_t i = 0; i < std::min<std::int64_t>(attempt, 4); ++i) pause *= 4;
  return pause;
}

// The client of S3 repeats what it knows to be passing; its own default waits longer for a server that is down.
class FewRetries : public afs::S3RetryStrategy {
 public:
  bool ShouldRetry(const AWSErrorDetail& error, std::int64_t attempted) override {
    return error.should_retry && attempted + 1 < most_attempts;
  }
  std::int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail&, std::int64_t attempted) override {
    return pause_after(attempted).count();
  }
};

template <typename T>
T value_of(arrow::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().message());
  return std::move(result).ValueUnsafe();
}

void require(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

constexpr std::string_view advice(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::access:
      return "; check the bucket's name, the credentials and the region";
    case ErrorKind::network:
      return "; check the address and the network, and try again";
    case ErrorKind::usage:
      return "; check how the address is spelled";
    default:
      return "";
  }
}

// Runs `action`. Clients throw, too: what leaves this function is an Error, or a lack of memory.
template <typename Action>
auto guarded(const StoreAddress& address, const std::string& file, const Action& action) {
  try {
    return action();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& failure) {
    // A cut would leave the beginning of a secret, and a secret may be a part of words that tell the kind.
    const std::string words = refusal_text(address.without_secrets(failure.what()));
    const ErrorKind kind = refusal_kind(failure.what());
    throw Error(kind, words + std::string(advice(kind)), file);
  }
}

std::int64_t nanoseconds(const afs::TimePoint& time) { return time.time_since_epoch().count(); }

// Of "2026-11-18T03:02:20Z"; none is 0.
std::int64_t nanoseconds_of(const std::string& iso) {
  std::tm time{};
  std::istringstream in(iso);
  in >> std::get_time(&time, "%Y-%m-%dT%H:%M:%S");
  return in.fail() ? 0 : static_cast<std::int64_t>(timegm(&time)) * 1'000'000'000;
}

}  // namespace

struct Store::Impl {
  std::shared_ptr<afs::FileSystem> files;
  std::string base;  // of the address, as Arrow spells paths

  explicit Impl(const StoreAddress& address) {
    if (address.scheme() == "s3") {
      // Takes some 30 ms, which no other address costs. Where pyarrow did so before, nothing happens.
      s3_was_started = true;
      require(afs::EnsureS3Initialized());
      afs::S3Options options = value_of(afs::S3Options::FromUri(address.full(), &base));
      options.retry_strategy = std::make_shared<FewRetries>();
      options.connect_timeout = connect_timeout_s;
      // A table is one put, and no part of it is seen before.
      options.allow_delayed_open = true;
      options.background_writes = false;
      files = value_of(afs::S3FileSystem::Make(options));
    } else {
      files = value_of(afs::FileSystemFromUri(uri_of(address), &base));
    }
    while (base.size() > 1 && base.ends_with('/')) base.pop_back();
  }

  // The client of gs:// repeats requests for a quarter of an hour unless it is told otherwise.
  static std::string uri_of(const StoreAddress& address) {
    const std::string& uri = address.full();
    const bool is_google = address.scheme() == "gs" || address.scheme() == "gcs";
    if (!is_google || uri.find("retry_limit_seconds=") != std::string::npos) return uri;
    return fmt::format("{}{}retry_limit_seconds=10", uri, uri.find('?') == std::string::npos ? '?' : '&');
  }

  std::string at(const std::string& path) const { return base + "/" + path; }

  // Clients say in different words, and some only by a number, that there is no such file: they are asked again.
  std::shared_ptr<arrow::io::RandomAccessFile> opened(const std::string& path) const {
    auto file = files->OpenInputFile(at(path));
    if (!file.ok()) {
      const auto info = files->GetFileInfo(at(path));
      if (info.ok() && info->type() == afs::FileType::NotFound) {
        throw std::runtime_error("there is no such file");
      }
    }
    return value_of(std::move(file));
  }
};

Store::Store(StoreAddress address) : address_(std::move(address)) {
  impl_ = guarded(address_, address_.shown(), [&] { return std::make_unique<Impl>(address_); });
}
Store::~Store() = default;

std::vector<ListedObject> Store::list(std::size_t most) const {
  return guarded(address_, address_.shown(), [&] {
    afs::FileSelector all;
    all.base_dir = impl_->base;
    all.recursive = true;
    all.allow_not_found = true;
    std::vector<ListedObject> objects;
    const std::string below = impl_->base + "/";
    std::size_t seen = 0;
    // Page after page, so that a listing without an end is left.
    const afs::FileInfoGenerator next_page = impl_->files->GetFileInfoGenerator(all);
    for (auto page = value_of(next_page().result()); !page.empty(); page = value_of(next_page().result())) {
      seen += page.size();
      if (seen > most) {
        throw Error(ErrorKind::input,
                    fmt::format("has more than {} files and folders, too many for a dump; check the address", most),
                    address_.shown());
      }
      for (const afs::FileInfo& info : page) {
        if (!info.IsFile() || !info.path().starts_with(below)) continue;
        objects.push_back({info.path().substr(below.size()),
                           static_cast<std::uint64_t>(std::max<std::int64_t>(info.size(), 0)),
                           nanoseconds(info.mtime())});
      }
    }
    if (objects.empty()) require_bucket();
    std::ranges::sort(objects, {}, &ListedObject::path);
    return objects;
  });
}

// A listing of a bucket that does not exist is empty, too.
void Store::require_bucket() const {
  if (address_.scheme() == "file" || address_.scheme() == "hdfs" || address_.scheme() == "viewfs") return;
  const std::string bucket = impl_->base.substr(0, impl_->base.find('/'));
  if (value_of(impl_->files->GetFileInfo(bucket)).type() != afs::FileType::NotFound) return;
  throw Error(ErrorKind::access, fmt::format("there is no such bucket: {}{}", bucket, advice(ErrorKind::access)),
              address_.shown());
}

void Store::read(const std::string& path, std::uint64_t size, std::uint64_t offset, std::span<std::uint8_t> out) const {
  guarded(address_, shown(path), [&] {
    afs::FileInfo info(impl_->at(path), afs::FileType::File);
    info.set_size(static_cast<std::int64_t>(size));
    const auto file = value_of(impl_->files->OpenInputFile(info));
    for (int attempt = 0;; ++attempt) {
      const std::int64_t got =
          value_of(file->ReadAt(static_cast<std::int64_t>(offset), static_cast<std::int64_t>(out.size()), out.data()));
      if (got == static_cast<std::int64_t>(out.size())) return;
      // An answer that ends too early, which no client has noticed.
      if (attempt + 1 == most_attempts) {
        throw std::runtime_error(fmt::format("the answer ends after {} of {} bytes", got, out.size()));
      }
      std::this_thread::sleep_for(pause_after(attempt));
    }
  });
}

ObjectState Store::state(const std::string& path) const {
  return guarded(address_, shown(path), [&] {
    const auto file = impl_->opened(path);
    ObjectState state;
    state.bytes = static_cast<std::uint64_t>(value_of(file->GetSize()));
    const auto metadata = value_of(file->ReadMetadata());
    if (metadata != nullptr) {
      state.etag = metadata->Get("ETag").ValueOr(metadata->Get("etag").ValueOr(""));
      state.modified_ns = nanoseconds_of(metadata->Get("Last-Modified").ValueOr(""));
    }
    if (state.modified_ns == 0)
      state.modified_ns = nanoseconds(value_of(impl_->files->GetFileInfo(impl_->at(path))).mtime());
    return state;
  });
}

std::string Store::read_all(const std::string& path, std::uint64_t most_bytes) const {
  return guarded(address_, shown(path), [&] {
    const auto file = impl_->opened(path);
    const auto size = static_cast<std::uint64_t>(value_of(file->GetSize()));
    if (size > most_bytes) throw Error(ErrorKind::input, too_large_text(most_bytes), shown(path));
    std::string text(static_cast<std::size_t>(size), '\0');
    const std::int64_t got = value_of(file->ReadAt(0, static_cast<std::int64_t>(text.size()), text.data()));
    if (static_cast<std::size_t>(got) != text.size()) throw std::runtime_error("the answer ends too early");
    return text;
  });
}

void Store::put(const std::string& path, std::string_view bytes) const {
  guarded(address_, shown(path), [&] {
    const std::string at = impl_->at(path);
    if (address_.scheme() != "s3") require(impl_->files->CreateDir(at.substr(0, at.rfind('/')), true));
    const auto stream = value_of(impl_->files->OpenOutputStream(at));
    require(stream->Write(bytes.data(), static_cast<std::int64_t>(bytes.size())));
    require(stream->Close());
  });
}

void Store::remove(const std::string& path) const {
  guarded(address_, shown(path), [&] {
    const std::string at = impl_->at(path);
    if (value_of(impl_->files->GetFileInfo(at)).type() == afs::FileType::NotFound) return;
    require(impl_->files->DeleteFile(at));
  });
}

std::string read_stored_file(const std::string& address, std::uint64_t most_bytes) {
  const std::size_t end = std::min(address.find('?'), address.size());
  const std::size_t slash = address.substr(0, end).rfind('/');
  if (slash == std::string::npos || slash + 1 == end) {
    throw Error(ErrorKind::usage, "names no file of a store", StoreAddress(address).shown());
  }
  const Store store(StoreAddress(address.substr(0, slash) + address.substr(end)));
  return store.read_all(address.substr(slash + 1, end - slash - 1), most_bytes);
}

void end_stores() noexcept {
  // Arrow's own answer takes memory, of which there may be none left.
  if (!s3_was_started.exchange(false)) return;
  try {
    if (afs::IsS3Finalized()) return;
    static_cast<void>(afs::FinalizeS3());
  } catch (const std::exception&) {  // there is nobody left to tell; NOLINT(bugprone-empty-catch)
  }
}

}  // namespace attention_plasticity
