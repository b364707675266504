#include "attention_plasticity/source/read_ahead.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// Requests in flight. A store answers after tens of milliseconds, and a head is measured in about as many: sixteen keep
// some ten cores busy, and stay below the connections that the client of S3 keeps open.
constexpr std::size_t most_threads = 16;

}  // namespace

ReadAhead::ReadAhead(const DumpFiles& files, std::vector<File> wanted, Options options, std::stop_token stop)
    : files_(files), options_(options), stop_(std::move(stop)) {
  for (File& file : wanted) {
    const std::optional<FileIdentity> listed = files.listed(file.path);
    if (!listed || !places_.emplace(file.path, entries_.size()).second) continue;
    entries_.push_back({std::move(file), listed->bytes, State::waiting, false, {}});
  }
  for (std::size_t i = 0; i < std::min(most_threads, entries_.size()); ++i) {
    try {
      threads_.emplace_back([this](const std::stop_token& ending) { serve(ending); });
    } catch (const std::system_error&) {
      if (threads_.empty()) throw;
      break;
    }
  }
}

ReadAhead::~ReadAhead() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
  for (const Entry& entry : entries_) {
    if (entry.is_held) files_.release(entry.file.path);
  }
}

void ReadAhead::serve(const std::stop_token& ending) {
  while (Entry* entry = next(ending)) {
    std::exception_ptr failure = fetch(entry->file);
    const std::scoped_lock lock(mutex_);
    entry->failure = std::move(failure);
    entry->state = State::done;
    changed_.notify_all();
  }
}

bool ReadAhead::fits(const Entry& entry) const {
  // A file that is larger than all that may be held is fetched when nothing else is.
  if (held_ == 0 && options_.exceeds_for_readers) return true;
  return entry.bytes <= options_.most_bytes && held_ <= options_.most_bytes - entry.bytes;
}

ReadAhead::Entry* ReadAhead::taken(std::size_t place) {
  Entry& entry = entries_[place];
  const bool is_awaited = awaited_.erase(place) > 0;
  if (fits(entry) || (is_awaited && options_.exceeds_for_readers)) {
    entry.state = State::fetching;
    entry.is_held = true;
    held_ += entry.bytes;
    return &entry;
  }
  if (is_awaited || (entry.bytes > options_.most_bytes && !options_.exceeds_for_readers)) {
    entry.state = State::done;
    changed_.notify_all();
  }
  return nullptr;
}

ReadAhead::Entry* ReadAhead::next(const std::stop_token& ending) {
  std::unique_lock lock(mutex_);
  while (true) {
    while (next_ < entries_.size() && entries_[next_].state != State::waiting) ++next_;
    if (stop_.stop_requested() || ending.stop_requested() || next_ == entries_.size()) return nullptr;
    // Whoever waits for a file may hold others, such as the keys of a task that waits for its queries. If it had to
    // wait until they are released, both would wait for ever.
    const std::size_t place = awaited_.empty() ? next_ : *awaited_.begin();
    if (Entry* entry = taken(place)) return entry;
    if (entries_[place].state != State::waiting) continue;
    changed_.wait(lock, ending, [&, before = held_] { return held_ < before || !awaited_.empty(); });
  }
}

// What the store said; none: the file is there, or its reader will find what is wrong with it.
std::exception_ptr ReadAhead::fetch(const File& file) const {
  try {
    fetch_head_file(files_.open(file.path), file.side, options_.part, options_.read);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) return std::current_exception();
  } catch (const std::bad_alloc&) {
    return nullptr;  // the reader tells how much it needs
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void ReadAhead::wait_for(const std::filesystem::path& file) {
  const auto place = places_.find(file);
  if (place == places_.end()) return;
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[place->second];
  if (entry.state == State::waiting) {
    awaited_.insert(place->second);
    changed_.notify_all();
  }
  changed_.wait(lock, stop_, [&] { return entry.state == State::done; });
  if (entry.failure) std::rethrow_exception(entry.failure);
}

void ReadAhead::release(const std::filesystem::path& file) {
  const auto place = places_.find(file);
  if (place == places_.end()) {
    files_.release(file);
    return;
  }
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[place->second];
  if (entry.state == State::waiting) {
    entry.state = State::done;
    awaited_.erase(place->second);
  }
  changed_.wait(lock, [&] { return entry.state == State::done; });
  files_.release(file);
  if (std::exchange(entry.is_held, false)) held_ -= entry.bytes;
  changed_.notify_all();
}

std::vector<ReadAhead::File> files_of(const DumpLayout& layout) {
  std::vector<ReadAhead::File> files;
  files.reserve(layout.queries.size() + layout.keys.size());
  for (const HeadNumber& head : layout.queries) files.push_back({layout.file(Side::query, head), Side::query});
  for (const HeadNumber& head : layout.keys) files.push_back({layout.file(Side::key, head), Side::key});
  return files;
}

void for_each_file(const DumpFiles& files, const std::vector<ReadAhead::File>& wanted, HeadPart part,
                   const std::function<void(const ReadAhead::File&)>& use) {
  std::optional<ReadAhead> ahead;
  if (files.are_remote()) ahead.emplace(files, wanted, ReadAhead::Options{.part = part});
  for (const ReadAhead::File& file : wanted) {
    if (ahead) ahead->wait_for(file.path);
    use(file);
    if (ahead) ahead->release(file.path);
  }
}

}  // namespace attention_plasticity
