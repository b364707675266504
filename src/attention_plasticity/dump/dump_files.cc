#include "attention_plasticity/dump/dump_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <system_error>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/store/range_plan.h"
#include "attention_plasticity/store/store.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t second = 1'000'000'000;  // in nanoseconds
constexpr const char* no_permission = "no permission to read the file; change its permissions or those of its folder";

[[noreturn]] void refuse(const fs::path& file, const std::string& message) {
  throw Error(ErrorKind::input, message, file.string());
}

std::string reason(int error_number) { return std::generic_category().message(error_number); }

[[noreturn]] void refuse_reading(const fs::path& file, int error_number) {
  refuse(file, fmt::format("the file cannot be read: {}", reason(error_number)));
}

/// Looks before opening, because opening a pipe would wait for its other end.
void require_regular_file(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) {
    refuse(file, fs::is_symlink(fs::symlink_status(file, error))
                     ? "the file is a broken link; download or capture this head again"
                     : "the file does not exist; download or capture this head again");
  }
  if (error == std::errc::permission_denied) refuse(file, no_permission);
  if (!fs::status_known(status)) refuse(file, fmt::format("the file cannot be read: {}", error.message()));
  if (fs::is_directory(status)) refuse(file, "this is a folder, a Parquet file is needed; capture this head again");
  if (!fs::is_regular_file(status)) refuse(file, "this is not a regular file, a Parquet file is needed");
}

int open_for_reading(const fs::path& file) {
  require_regular_file(file);
  while (true) {
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    if (descriptor >= 0) return descriptor;
    const int error_number = errno;
    if (error_number == EINTR) continue;
    refuse(file, error_number == EACCES || error_number == EPERM
                     ? no_permission
                     : fmt::format("the file cannot be opened: {}", reason(error_number)));
  }
}

}  // namespace

DiskFile::DiskFile(fs::path file) : InputFile(std::move(file)), descriptor_(open_for_reading(path_)) {
  try {
    identity_ = current_identity();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

DiskFile::~DiskFile() { close(descriptor_); }

FileIdentity DiskFile::current_identity() const {
  struct stat status{};
  if (fstat(descriptor_, &status) != 0) refuse_reading(path_, errno);
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec};
}

void DiskFile::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  // Some systems take no more than 2 GiB at once.
  constexpr std::size_t most = std::size_t{1} << 30;
  while (!out.empty()) {
    const ssize_t got = pread(descriptor_, out.data(), std::min(out.size(), most), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_reading(path_, errno);
    if (got == 0) refuse(path_, "the file became shorter while it was read; run again when nothing writes to it");
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

void InputFile::require_same(const FileIdentity& expected) const {
  if (identity_ != expected) {
    refuse(path_, "the file was replaced or changed after the run began; run again when nothing writes to the dump");
  }
}

void DiskFile::require_unchanged() const {
  if (current_identity() != identity_) {
    refuse(path_, "the file changed while it was read; run again when nothing writes to the dump");
  }
}

/// How many bytes at the end of a file are asked for first. The files of a dump have alike footers, so each file tells
/// the next.
class TailGuess {
 public:
  std::uint64_t bytes() const { return bytes_; }
  /// A footer had this many bytes, with what follows it.
  void learn(std::uint64_t footer_bytes);

 private:
  std::atomic<std::uint64_t> bytes_ = 8 << 10;
};

/// A file in a store. The bytes that were read of it stay in memory: its end, which holds the footer, for good, and
/// those that `expect` fetched until `release`. Thread-safe.
///
/// Reads of a store are not of one moment. The file is known by the size and time in the listing, and after the last
/// request the store is asked once more: another size, time or etag is Error(input). A file that was written only
/// seconds before the listing could be written again within the same second, so its etag is asked for before as well.
class StoredFile : public InputFile {
 public:
  /// `listed_at`: when the listing was made, in nanoseconds since 1970. `store` and `guess` must outlive the file.
  StoredFile(const Store& store, const ListedObject& listed, std::int64_t listed_at, TailGuess& guess);

  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override;
  void require_unchanged() const override;
  bool is_remote() const override { return true; }
  void expect(std::span<const ByteRange> ranges) const override;
  std::string etag() const override;

  /// Frees what `expect` fetched.
  void release() const;

 private:
  struct Piece {
    ByteRange range;
    std::unique_ptr<std::uint8_t[]> bytes;  // NOLINT(*-avoid-c-arrays): left uninitialised
    bool stays = false;
  };

  // All below hold `mutex_`.
  void fetch(const ByteRange& range, bool stays) const;
  void fetch_missing(const ByteRange& range) const;
  std::vector<ByteRange> missing(const ByteRange& range) const;
  void check_state() const;

  const Store& store_;
  std::string name_;  // in the store
  bool is_fresh_;
  TailGuess& guess_;
  mutable std::mutex mutex_;
  mutable std::vector<Piece> pieces_;  // ascending, apart from each other
  mutable bool is_checked_ = false;    // since the last request
  mutable std::string etag_;
};

namespace {

// Clocks of this machine and the store may differ by as much.
constexpr std::int64_t fresh = 5 * second;

FileIdentity identity_of(const ListedObject& listed) { return {0, 0, listed.bytes, listed.modified_ns}; }

}  // namespace

void TailGuess::learn(std::uint64_t footer_bytes) {
  constexpr std::uint64_t step = 1 << 10;
  const std::uint64_t wanted = (footer_bytes / step + 1) * step;
  std::uint64_t before = bytes_;
  while (wanted > before && !bytes_.compare_exchange_weak(before, wanted)) {
  }
}

StoredFile::StoredFile(const Store& store, const ListedObject& listed, std::int64_t listed_at, TailGuess& guess)
    : InputFile(store.shown(listed.path), identity_of(listed)),
      store_(store),
      name_(listed.path),
      is_fresh_(listed.modified_ns > listed_at - fresh),
      guess_(guess) {}

void StoredFile::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  const ByteRange range{offset, offset + out.size()};
  if (range.end > size())
    throw Error(ErrorKind::input, "the file is shorter than it was when it was listed", path_.string());
  const std::scoped_lock lock(mutex_);
  fetch_missing(range);
  for (const Piece& piece : pieces_) {
    const std::uint64_t begin = std::max(range.begin, piece.range.begin);
    const std::uint64_t end = std::min(range.end, piece.range.end);
    if (begin >= end) continue;
    std::memcpy(out.data() + (begin - range.begin), piece.bytes.get() + (begin - piece.range.begin), end - begin);
  }
}

std::vector<ByteRange> StoredFile::missing(const ByteRange& range) const {
  std::vector<ByteRange> gaps;
  std::uint64_t at = range.begin;
  for (const Piece& piece : pieces_) {
    if (piece.range.end <= at) continue;
    if (piece.range.begin >= range.end) break;
    if (piece.range.begin > at) gaps.push_back({at, piece.range.begin});
    at = piece.range.end;
  }
  if (at < range.end) gaps.push_back({at, range.end});
  return gaps;
}

void StoredFile::fetch_missing(const ByteRange& range) const {
  const bool is_end = range.end == size();
  if (pieces_.empty() && is_end)
    fetch({size() - std::min(size(), std::max(guess_.bytes(), range.size())), size()}, true);
  for (const ByteRange& gap : missing(range)) fetch(gap, is_end);
  if (is_end) guess_.learn(range.size());
}

void StoredFile::expect(std::span<const ByteRange> ranges) const {
  const std::scoped_lock lock(mutex_);
  std::vector<ByteRange> gaps;
  for (const ByteRange& range : ranges) {
    const std::vector<ByteRange> own = missing(range);
    gaps.insert(gaps.end(), own.begin(), own.end());
  }
  for (const ByteRange& planned : planned_ranges(gaps)) {
    // A hole may hold what is there already.
    for (const ByteRange& gap : missing(planned)) fetch(gap, false);
  }
  if (!is_checked_) check_state();
}

void StoredFile::fetch(const ByteRange& range, bool stays) const {
  if (is_fresh_ && etag_.empty()) etag_ = store_.state(name_).etag;
  is_checked_ = false;
  Piece piece{range, nullptr, stays};
  piece.bytes = std::make_unique_for_overwrite<std::uint8_t[]>(range.size());  // NOLINT(*-avoid-c-arrays)
  store_.read(name_, size(), range.begin, {piece.bytes.get(), static_cast<std::size_t>(range.size())});
  const auto after = std::ranges::find_if(pieces_, [&](const Piece& other) { return other.range.begin > range.begin; });
  pieces_.insert(after, std::move(piece));
}

void StoredFile::check_state() const {
  const ObjectState now = store_.state(name_);
  // A listing and an answer may tell fractions of a second, or not.
  const bool is_same = now.bytes == size() && now.modified_ns / second == identity_.modified / second &&
                       (etag_.empty() || now.etag == etag_);
  if (!is_same) {
    throw Error(ErrorKind::input,
                "the file was replaced or changed after the run began; run again when nothing writes to the dump",
                path_.string());
  }
  etag_ = now.etag;
  is_checked_ = true;
}

void StoredFile::require_unchanged() const {
  const std::scoped_lock lock(mutex_);
  if (!is_checked_) check_state();
}

std::string StoredFile::etag() const {
  const std::scoped_lock lock(mutex_);
  return etag_;
}

void StoredFile::release() const {
  const std::scoped_lock lock(mutex_);
  std::erase_if(pieces_, [](const Piece& piece) { return !piece.stays; });
}

namespace {

class DiskFiles : public DumpFiles {
 public:
  std::shared_ptr<const InputFile> open(const fs::path& file) const override {
    return std::make_shared<DiskFile>(file);
  }
  bool exists(const fs::path& file) const override {
    std::error_code unknown;
    return fs::symlink_status(file, unknown).type() != fs::file_type::not_found;
  }
  std::string text(const fs::path& file) const override {
    std::error_code unknown;
    if (!fs::is_regular_file(file, unknown)) throw Error(ErrorKind::input, "is not a file that can be read");
    return read_text_file(file);
  }
};

std::int64_t now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

}  // namespace

const DumpFiles& disk_files() {
  static const DiskFiles files;
  return files;
}

StoredFiles::StoredFiles(const StoreAddress& address)
    : store_(std::make_unique<Store>(address)), guess_(std::make_unique<TailGuess>()), root_(address.shown()) {
  const std::int64_t listed_at = now();
  for (const ListedObject& object : store_->list()) {
    files_[object.path] = std::make_shared<StoredFile>(*store_, object, listed_at, *guess_);
  }
}

StoredFiles::~StoredFiles() = default;

std::vector<std::string> StoredFiles::paths() const {
  std::vector<std::string> all;
  all.reserve(files_.size());
  for (const auto& [path, file] : files_) all.push_back(path);
  return all;
}

std::string StoredFiles::name(const fs::path& file) const { return file.lexically_relative(root_).generic_string(); }

bool StoredFiles::exists(const fs::path& file) const { return files_.contains(name(file)); }

std::shared_ptr<const InputFile> StoredFiles::open(const fs::path& file) const {
  const auto found = files_.find(name(file));
  if (found == files_.end()) {
    throw Error(ErrorKind::input, "the file does not exist; download or capture this head again", file.string());
  }
  return found->second;
}

std::string StoredFiles::text(const fs::path& file) const {
  open(file);  // a file that was not listed is not read
  return store_->read_all(name(file));
}

std::optional<FileIdentity> StoredFiles::listed(const fs::path& file) const {
  const auto found = files_.find(name(file));
  return found == files_.end() ? std::nullopt : std::optional(found->second->identity());
}

void StoredFiles::release(const fs::path& file) const {
  const auto found = files_.find(name(file));
  if (found != files_.end()) found->second->release();
}

}  // namespace attention_plasticity
