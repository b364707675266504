#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/store/store_address.h"

namespace attention_plasticity {

/// A file in a store, as a listing shows it.
struct ListedObject {
  std::string path;  ///< below the address, with slashes
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< nanoseconds since 1970; many stores know whole seconds
};

/// What a store says of a file when it is asked.
struct ObjectState {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::string etag;  ///< changes whenever the file is written; empty where the store has none
};

/// A folder in an object store, through Arrow's file systems. All functions may be called by several threads, and may
/// wait for the network. Requests are repeated a few times after failures that may pass.
///
/// They throw Error, which names the file without credentials: `access` where there is no such bucket or no access to
/// it, `network` when the store does not answer, `input` for a file that is not there, `usage` for an address that
/// Arrow does not take.
class Store {
 public:
  /// Sends nothing where the address says all that is needed; S3 may be asked for the region of a bucket.
  explicit Store(StoreAddress address);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const StoreAddress& address() const { return address_; }
  /// The path of a file for people.
  std::string shown(const std::string& path) const { return address_.shown() + "/" + path; }
  /// The address of a file with those options that hold no credentials, so that it can be used again.
  std::string recorded(const std::string& path) const {
    return shown(path) + address_.recorded().substr(address_.shown().size());
  }

  /// As many files and folders may lie below an address: those of some ten thousand models.
  static constexpr std::size_t most_listed = 1'000'000;

  /// All files below the address, by path; empty where there are none. Throws Error(input) when there are more than
  /// `most` files and folders.
  std::vector<ListedObject> list(std::size_t most = most_listed) const;
  /// Fills `out` with the bytes from `offset` on of a file whose size is known: one request.
  void read(const std::string& path, std::uint64_t size, std::uint64_t offset, std::span<std::uint8_t> out) const;
  /// One request.
  ObjectState state(const std::string& path) const;
  /// The whole of a small file. Throws Error(input) when it is larger than `most_bytes`, in the words of
  /// read_file_bytes.
  std::string read_all(const std::string& path, std::uint64_t most_bytes = most_side_file_bytes) const;
  /// Writes a whole file, in place of the one that may be there. On s3:// and gs:// a reader sees the old one or the
  /// new one; on abfs://, hdfs:// and file:// one who comes meanwhile may see a part of the new one.
  void put(const std::string& path, std::string_view bytes) const;
  /// Nothing happens when there is no such file.
  void remove(const std::string& path) const;

 private:
  void require_bucket() const;

  struct Impl;
  StoreAddress address_;
  std::unique_ptr<Impl> impl_;
};

/// The whole of the file that an address names, as Store::read_all.
std::string read_stored_file(const std::string& address, std::uint64_t most_bytes = most_side_file_bytes);

/// Ends what the clients of stores started in this process; a process that leaves without it may crash. Stores that are
/// still there can be destroyed afterwards, but not used. Nothing happens when no store was used, and when somebody
/// else has done it before, as pyarrow does.
void end_stores() noexcept;

/// Calls `end_stores` when it is destroyed. A program that uses stores has one, in `main`, which outlives every Store.
class StoreSession {
 public:
  StoreSession() = default;
  ~StoreSession() { end_stores(); }
  StoreSession(const StoreSession&) = delete;
  StoreSession& operator=(const StoreSession&) = delete;
};

}  // namespace attention_plasticity
