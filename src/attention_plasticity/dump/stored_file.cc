#include "attention_plasticity/dump/stored_file.h"

#include <algorithm>
#include <cstring>

#include "attention_plasticity/error.h"
#include "attention_plasticity/store/range_plan.h"

namespace attention_plasticity {
namespace {

constexpr std::int64_t second = 1'000'000'000;
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
  count_memory(0);
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
  if (!stays) count_memory(range.size());
  piece.bytes = std::make_unique_for_overwrite<std::uint8_t[]>(range.size());  // NOLINT(*-avoid-c-arrays)
  store_.read(name_, size(), range.begin, {piece.bytes.get(), static_cast<std::size_t>(range.size())});
  const auto after = std::ranges::find_if(pieces_, [&](const Piece& other) { return other.range.begin > range.begin; });
  pieces_.insert(after, std::move(piece));
}

// Whether a head fits its memory must not depend on who was first: a file that was fetched ahead counts as one that its
// reader fetches.
void StoredFile::count_memory(std::uint64_t more) const {
  for (const Piece& piece : pieces_) more += piece.stays ? 0 : piece.range.size();
  charge_.reset();
  charge_.emplace(more);
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
  charge_.reset();
}

}  // namespace attention_plasticity
