#include "attention_plasticity/analysis/kept_rows.h"

#include <fmt/core.h>

#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "attention_plasticity/base/finite.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/random/numpy_generator.h"

namespace attention_plasticity {
namespace {

HeadRows pick(const RowsView& rows, std::span<const std::size_t> kept) {
  HeadRows picked;
  picked.width = rows.width;
  picked.window = rows.window;
  picked.bucket.reserve(kept.size());
  picked.example.reserve(kept.size());
  picked.position.reserve(kept.size());
  picked.vectors.reserve(kept.size() * rows.width);
  for (const std::size_t i : kept) {
    picked.bucket.push_back(rows.bucket[i]);
    picked.example.push_back(rows.example[i]);
    picked.position.push_back(rows.position[i]);
    const auto vector = rows.row(i);
    picked.vectors.insert(picked.vectors.end(), vector.begin(), vector.end());
  }
  return picked;
}

// Where rows adjoin, values beyond the last row are an error too: they are a sign of a wrong width.
bool has_values_of_all_rows(const RowsView& rows) {
  const std::size_t n = rows.size();
  const std::size_t stride = rows.row_stride == 0 ? rows.width : rows.row_stride;
  if (stride == rows.width) return rows.vectors.size() / rows.width == n && rows.vectors.size() % rows.width == 0;
  return stride > rows.width && rows.vectors.size() >= rows.width &&
         (rows.vectors.size() - rows.width) / stride >= n - 1;
}

}  // namespace

void check_columns(const RowsView& rows, std::string_view what) {
  const std::size_t n = rows.size();
  if (n == 0) throw Error(ErrorKind::input, fmt::format("there are no {}", what));
  if (rows.width == 0) throw Error(ErrorKind::input, fmt::format("the {} have no components", what));
  if (rows.bucket.size() != n || !has_values_of_all_rows(rows) || (!rows.example.empty() && rows.example.size() != n)) {
    throw Error(ErrorKind::input,
                fmt::format("the columns of the {} differ in length: {} positions, {} buckets, {} examples, {} values "
                            "of {} components",
                            what, n, rows.bucket.size(), rows.example.size(), rows.vectors.size(), rows.width));
  }
}

KeptRows::KeptRows(const RowsView& rows) : view_(rows) {
  if (rows.row_stride == 0 || rows.row_stride == rows.width) return;
  owned_.vectors.reserve(rows.size() * rows.width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto vector = rows.row(i);
    owned_.vectors.insert(owned_.vectors.end(), vector.begin(), vector.end());
  }
  view_.vectors = owned_.vectors;
  view_.row_stride = 0;
}

KeptRows::KeptRows(HeadRows rows) : owned_(std::move(rows)), view_(owned_) {}

void KeptRows::subsample(const AnalysisOptions& options, std::uint64_t first_own_example) {
  if (view_.example.empty()) {
    owned_.example.resize(view_.size());
    std::iota(owned_.example.begin(), owned_.example.end(), first_own_example);
    view_.example = owned_.example;
  }
  if (!options.max_tokens_per_head || view_.size() <= *options.max_tokens_per_head) return;
  const auto kept = NumpyGenerator(options.seed).choice_without_replacement(view_.size(), *options.max_tokens_per_head);
  HeadRows picked = pick(view_, kept);
  owned_ = std::move(picked);
  view_ = owned_;
}

namespace {

constexpr double last_position = 9007199254740992.0;  // 2^53

}  // namespace

KeptRows checked_rows(const RowsView& rows, std::string_view what) {
  check_columns(rows, what);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto require = [&](bool holds, const char* problem) {
      if (!holds) throw Error(ErrorKind::input, fmt::format("row {} of the {}: {}", i, what, problem));
    };
    throw_if_stopped_at(i);
    require(rows.position[i] >= 0 && std::isfinite(rows.position[i]), "the position is negative or not finite");
    require(rows.position[i] <= last_position, "the position is beyond 2^53");
    require(rows.bucket[i] >= 0, "the bucket is negative");
    require(rows.example.empty() || rows.example[i] < first_own_query_example, "the example is 2^63 or more");
    require(all_finite(rows.row(i)), "the vector has a NaN or an infinity in it");
  }
  if (rows.window && !(*rows.window >= 0)) {
    throw Error(ErrorKind::input, fmt::format("the sliding window of the {} is negative or not a number", what));
  }
  return KeptRows(rows);
}

}  // namespace attention_plasticity
