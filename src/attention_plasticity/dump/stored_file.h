#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/base/memory_account.h"
#include "attention_plasticity/dump/input_file.h"
#include "attention_plasticity/store/store.h"

namespace attention_plasticity {

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

/// A file in a store. What was read of it stays in memory: its end, which holds the footer, for good, and what `expect`
/// fetched until `release`. That is counted in the memory of whoever called `expect` last, no matter who fetched it.
/// Thread-safe.
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
  void count_memory(std::uint64_t more) const;

  const Store& store_;
  std::string name_;  // in the store
  bool is_fresh_;
  TailGuess& guess_;
  mutable std::mutex mutex_;
  mutable std::vector<Piece> pieces_;           // ascending, apart from each other
  mutable std::optional<MemoryCharge> charge_;  // of the pieces that do not stay; none: they were released
  mutable bool is_checked_ = false;             // since the last request
  mutable std::string etag_;
};

}  // namespace attention_plasticity
