#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "attention_plasticity/dump/dump_files.h"
#include "attention_plasticity/dump/head_file.h"

namespace attention_plasticity {

/// Fetches files of a dump in a store before they are read, in order, several at a time. Results do not depend on it.
class ReadAhead {
 public:
  struct File {
    std::filesystem::path path;
    Side side = Side::query;
  };
  struct Options {
    HeadPart part = HeadPart::rows;
    ReadOptions read = {};
    /// Bytes of files that were fetched and not released yet. Files that nobody waits for are not fetched beyond it.
    std::uint64_t most_bytes = std::uint64_t{1} << 30U;
    /// What becomes of a file that somebody waits for and that does not fit: true: it is fetched all the same; false:
    /// it is left to its reader, as is every file of more than `most_bytes`.
    bool exceeds_for_readers = true;
  };

  /// `files` must outlive it. Each path counts once. Without `stop`, ends when it is destroyed.
  ReadAhead(const DumpFiles& files, std::vector<File> wanted, Options options, std::stop_token stop = {});
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Waits until a file is fetched, or left to its reader. Never waits for another file to be released, so that a
  /// caller may hold any number of files. Throws Error of the kinds access and network, which are not
  /// the file's fault. What is wrong with the file itself is left to its reader, too.
  void wait_for(const std::filesystem::path& file);
  /// To be called when a file was read, or will not be: frees what was fetched of it.
  void release(const std::filesystem::path& file);

 private:
  enum class State { waiting, fetching, done };
  struct Entry {
    File file;
    std::uint64_t bytes = 0;
    State state = State::waiting;
    bool is_held = false;
    std::exception_ptr failure;
  };

  void serve(const std::stop_token& ending);
  Entry* next(const std::stop_token& ending);
  // The entry that is to be fetched now; null: none may be, or the file was left to its reader.
  Entry* taken(std::size_t place);
  bool fits(const Entry& entry) const;
  std::exception_ptr fetch(const File& file) const;

  const DumpFiles& files_;
  Options options_;
  std::stop_token stop_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Entry> entries_;
  std::map<std::filesystem::path, std::size_t> places_;
  std::size_t next_ = 0;           // all entries before it were taken
  std::set<std::size_t> awaited_;  // entries that somebody waits for and nobody has taken yet
  std::uint64_t held_ = 0;
  std::vector<std::jthread> threads_;  // end before all else is destroyed
};

/// All files of a dump.
std::vector<ReadAhead::File> files_of(const DumpLayout& layout);

/// Reads files one after the other, fetched ahead where they are in a store: calls `use` with each, and frees it.
/// Network failures leave as Error; `use` must handle those of a file.
void for_each_file(const DumpFiles& files, const std::vector<ReadAhead::File>& wanted, HeadPart part,
                   const std::function<void(const ReadAhead::File&)>& use);

}  // namespace attention_plasticity
