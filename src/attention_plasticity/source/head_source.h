#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attention_plasticity/analysis/kept_rows.h"
#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/base/head_number.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/layout.h"

namespace attention_plasticity {

/// A head to measure, and what is known of its size. All numbers are 0 where they are unknown.
struct HeadTask {
  HeadId head;
  std::uint64_t query_bytes = 0;  ///< estimated memory of its queries
  std::uint64_t key_bytes = 0;    ///< estimated memory of its keys
  std::size_t width = 0;          ///< components of a query
  std::uint64_t query_rows = 0;
  std::uint64_t key_rows = 0;
};

inline HeadSide queries_of(const HeadId& head) { return {Side::query, {head.layer, head.q_head}}; }
inline HeadSide keys_of(const HeadId& head) { return {Side::key, {head.layer, head.k_head}}; }

/// The sides that heads have, in the order in which they are read: keys that several heads share stand once.
std::vector<HeadSide> sides_of(std::span<const HeadTask> tasks);

/// A record of what was read of one side of a head.
struct ReadRecord {
  std::optional<InputDigest> input = {};  ///< identity of the file; none if the rows are in no file
  std::uint64_t rows = 0;                 ///< rows that were kept
  std::uint64_t dropped_rows = 0;         ///< rows with NaN or infinity, by `non_finite: drop`
  bool has_examples = true;               ///< whether the rows name their documents
};

struct SourceRows {
  KeptRows rows;
  ReadRecord read;
};

/// The documents of one side of a head, as captured.
struct SourceDocuments {
  std::vector<std::uint64_t> ids;  ///< distinct, ascending; empty if the rows do not name their documents
  std::uint64_t rows = 0;
};

/// Tells a file of a head from another version of it.
struct RecordedFile {
  std::string file;                         ///< its path below the folder of the heads, with slashes
  std::uint64_t bytes = 0;                  ///< its size
  std::optional<std::int64_t> modified_ns;  ///< of a dump that is not on the Hub: nanoseconds since 1970, in UTC
  std::optional<std::string> etag;          ///< of a dump on the Hub: the name of its content in the cache

  friend bool operator==(const RecordedFile&, const RecordedFile&) = default;
};

/// A place that the heads of a run come from: a folder, the Hub, an object store, arrays, a capture that is running.
///
/// `rows`, `documents` and `release` may be called by several threads; the other functions by one at a time. All that
/// read throw Error(input) for rows that cannot be used, which fails the heads that read them, and Error(access) or
/// Error(network) when the source itself fails, which ends the run.
class HeadSource {
 public:
  HeadSource() = default;
  virtual ~HeadSource() = default;
  HeadSource(const HeadSource&) = delete;
  HeadSource& operator=(const HeadSource&) = delete;

  /// Announces which sides will be read next, and in which order, in place of those announced before. Fetching them may
  /// begin; `told` hears of it and must outlive the next call of `expect`. Reading other sides stays possible where the
  /// source has them.
  virtual void expect(const std::vector<HeadSide>& /*sides*/, const RunObserver& /*told*/,
                      const std::stop_token& /*stop*/) {}
  /// True if tasks must wait for their rows: `wait_for` has something to do.
  virtual bool is_awaited() const { return false; }
  /// Waits until both sides of a task can be read, and fills in its sizes. Tasks come in the order of `expect`.
  virtual void wait_for(HeadTask& /*task*/) {}

  /// Reads one side of a head: rows that are checked, and a record of them.
  virtual SourceRows rows(const HeadSide& side) = 0;
  /// Reads which documents the rows of one side belong to.
  virtual SourceDocuments documents(const HeadSide& side) = 0;
  /// Bounds of the memory that rows() takes for one side. All 0 for a file that cannot be read: its reader reports why.
  virtual HeadFileSize size(const HeadSide& /*side*/) { return {}; }
  /// The memory that the source itself takes at most, for rows that are fetched ahead of their readers.
  virtual std::uint64_t own_bytes() const { return 0; }
  /// Frees what was fetched of a side that has been read, or will not be.
  virtual void release(const HeadSide& /*side*/) {}
  /// Called when a task has ended, whatever became of it, and will not be read again.
  virtual void finish(const HeadTask& /*task*/) {}
  /// Called when no task is to be read any more: fetching ends.
  virtual void end() {}

  /// The path of the file of one side; empty if its rows are in no file.
  virtual std::string file(const HeadSide& /*side*/) const { return {}; }
  /// The files of the tasks, each once, by path.
  virtual std::vector<RecordedFile> files(std::span<const HeadTask> /*tasks*/) const { return {}; }
  /// The largest position of all heads of the source, 0 if nothing can be read.
  virtual double largest_position(const std::stop_token& stop) = 0;
};

}  // namespace attention_plasticity
