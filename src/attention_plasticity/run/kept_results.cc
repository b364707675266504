#include "attention_plasticity/run/kept_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/base/text.h"

namespace attention_plasticity {

KeptResults::KeptResults(std::size_t heads, std::uint64_t limit, std::uint64_t held)
    : limit_(limit), results_(heads), large_before_next_(held) {}

std::uint64_t KeptResults::set_aside() const { return std::max(limit_ / 8, small_before_next_) + large_before_next_; }

std::uint64_t KeptResults::most_of_next() const { return limit_ - std::min(limit_, set_aside()); }

bool KeptResults::fits_anyway(const HeadMemory& head) const {
  return is_small(head.result) && head.peak <= limit_ / 4 && small_ + head.result <= limit_ / 8;
}

std::optional<OverMemoryLimit> KeptResults::refusal_of_next(const HeadMemory& head) const {
  const std::uint64_t kept = small_before_next_ + large_before_next_;
  const bool is_too_large = !is_small(head.result) && large_before_next_ + head.result > limit_ / 2;
  if (head.peak <= most_of_next() && !is_too_large) return std::nullopt;
  const std::uint64_t needed = is_too_large ? 2 * (large_before_next_ + head.result) : head.peak + set_aside();
  if (kept <= limit_ / 8 && !is_too_large) return OverMemoryLimit(needed, limit_);
  return OverMemoryLimit(needed, limit_,
                         fmt::format("its result takes {}, and the results of the heads before it hold {}",
                                     size_text(head.result), size_text(kept)));
}

void KeptResults::keep(std::size_t head, std::uint64_t result) {
  results_[head] = result;
  if (is_small(result)) small_ += result;
  for (; next_ < results_.size() && results_[next_]; ++next_) {
    const std::uint64_t passed = results_[next_].value_or(0);
    (is_small(passed) ? small_before_next_ : large_before_next_) += passed;
  }
}

}  // namespace attention_plasticity
