#include "attention_plasticity/source/array_source.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "attention_plasticity/analysis/run_groups.h"
#include "attention_plasticity/base/finite.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// The rows without those that hold a NaN or an infinity; none if there are no such rows.
std::optional<HeadRows> without_non_finite(const RowsView& rows) {
  std::vector<std::size_t> finite;
  finite.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    throw_if_stopped_at(i);
    if (all_finite(rows.row(i))) finite.push_back(i);
  }
  if (finite.size() == rows.size()) return std::nullopt;
  HeadRows picked;
  picked.width = rows.width;
  picked.window = rows.window;
  for (const std::size_t i : finite) {
    picked.bucket.push_back(rows.bucket[i]);
    picked.position.push_back(rows.position[i]);
    if (!rows.example.empty()) picked.example.push_back(rows.example[i]);
    picked.vectors.insert(picked.vectors.end(), rows.row(i).begin(), rows.row(i).end());
  }
  return picked;
}

SourceRows checked(const RowsView& rows, Side side, NonFinite non_finite) {
  const std::string_view what = side == Side::query ? "queries" : "keys";
  check_columns(rows, what);
  ReadRecord read{.rows = rows.size(), .has_examples = !rows.example.empty()};
  if (non_finite == NonFinite::drop) {
    if (std::optional<HeadRows> finite = without_non_finite(rows)) {
      read.rows = finite->size();
      read.dropped_rows = rows.size() - finite->size();
      checked_rows(*finite, what);
      return {KeptRows(std::move(*finite)), std::move(read)};
    }
  }
  return {checked_rows(rows, what), std::move(read)};
}

}  // namespace

ArraySource::ArraySource(ArrayPasses passes, NonFinite non_finite)
    : passes_(std::move(passes)), non_finite_(non_finite) {
  for (std::size_t pass = 0; pass < passes_.heads.size(); ++pass) {
    for (const ArrayPasses::Head& head : passes_.heads[pass]) pass_of_.emplace(head.head, pass);
  }
}

void ArraySource::begin_pass_of(const HeadId& head) {
  std::unique_lock lock(mutex_);
  while (begun_ <= pass_of_.at(head)) {
    // The rows of a pass stay while a head of it is being measured. A head that is given up after a stop never ends.
    if (!changed_.wait(lock, stop_, [this] { return unfinished_ == 0; })) throw_stopped();
    views_.clear();
    heads_ = passes_.rows(begun_);
    if (heads_.empty()) throw_stopped();
    for (const ArrayHead& own : heads_) {
      const HeadSide queries = queries_of(own.head);
      const HeadSide keys = keys_of(own.head);
      views_.emplace(std::pair(queries.side, queries.head), own.queries);
      views_.emplace(std::pair(keys.side, keys.head), own.keys);
    }
    unfinished_ = passes_.heads[begun_].size();
    ++begun_;
  }
}

void ArraySource::expect(const std::vector<HeadSide>& /*sides*/, const RunObserver& /*told*/,
                         const std::stop_token& stop) {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = stop;
  }
  // No task waits for a single pass.
  if (passes_.heads.size() == 1 && !pass_of_.empty()) begin_pass_of(pass_of_.begin()->first);
}

void ArraySource::wait_for(HeadTask& task) { begin_pass_of(task.head); }

RowsView ArraySource::view(const HeadSide& side) {
  const std::scoped_lock lock(mutex_);
  const auto found = views_.find({side.side, side.head});
  if (found == views_.end()) throw Error(ErrorKind::input, "the rows of this head are not there in this pass");
  return found->second;
}

SourceRows ArraySource::rows(const HeadSide& side) { return checked(view(side), side.side, non_finite_); }

SourceDocuments ArraySource::documents(const HeadSide& side) {
  const RowsView rows = view(side);
  return {distinct_examples(rows.example, {}), rows.size()};
}

// Others own the rows, but those that do not adjoin are copied.
HeadFileSize ArraySource::size(const HeadSide& side) {
  const RowsView rows = view(side);
  const std::uint64_t bytes = rows.size() * (rows.width * sizeof(float) + 24);
  return {rows.size(), rows.width, bytes, bytes};
}

void ArraySource::finish(const HeadTask& /*task*/) {
  const std::scoped_lock lock(mutex_);
  --unfinished_;
  changed_.notify_all();
}

double ArraySource::largest_position(const std::stop_token& /*stop*/) {
  double largest = 0;
  const std::scoped_lock lock(mutex_);
  for (const auto& [side, rows] : views_) {
    for (const double position : rows.position) largest = std::max(largest, position);
  }
  return largest;
}

}  // namespace attention_plasticity
