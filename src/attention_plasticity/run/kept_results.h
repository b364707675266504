#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attention_plasticity/base/memory_account.h"

namespace attention_plasticity {

/// What a head that was measured held, in bytes.
struct HeadMemory {
  std::uint64_t peak = 0;    ///< at most at any time, with its keys
  std::uint64_t result = 0;  ///< of what is kept of it until the run ends
};

/// The results that a run keeps until its end, and which heads they leave room for.
///
/// Head i fits exactly if its peak and the results of the heads before it, by number, are within the limit. So the
/// heads that do not fit are the same for any number of workers, in whatever order heads end. Heads are therefore
/// judged in order. Only a head that fits whatever the others do is kept before those that precede it have ended: that
/// is what the following shares of the limit are for.
///
///     1/8     set aside for small results, of at most 1/1024 each
///     1/2     the most that larger results may hold together
///     1/4     the most that a head may hold that is kept out of order
class KeptResults {
 public:
  /// `held` bytes of results are there already.
  KeptResults(std::size_t heads, std::uint64_t limit, std::uint64_t held);

  std::uint64_t limit() const { return limit_; }
  /// The first head that has not been kept or has not failed yet; the number of heads after the last.
  std::size_t next() const { return next_; }
  /// The bytes that head next() may hold with its keys.
  std::uint64_t most_of_next() const;

  /// Whether a head may be kept although heads before it are still at work.
  bool fits_anyway(const HeadMemory& head) const;
  /// Whether head next() fits; otherwise why not.
  std::optional<OverMemoryLimit> refusal_of_next(const HeadMemory& head) const;

  /// The head's result stays; 0 bytes for one that failed.
  void keep(std::size_t head, std::uint64_t result);

 private:
  bool is_small(std::uint64_t result) const { return result <= limit_ / 1024; }
  std::uint64_t set_aside() const;

  std::uint64_t limit_;
  std::size_t next_ = 0;
  std::vector<std::optional<std::uint64_t>> results_;  // of each head that was kept
  std::uint64_t small_ = 0;                            // results of all heads, in bytes
  std::uint64_t small_before_next_ = 0;                // of heads below next_
  std::uint64_t large_before_next_ = 0;
};

}  // namespace attention_plasticity
