#pragma once

#include <cstdint>
#include <string_view>

#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/rows.h"

namespace attention_plasticity {

/// A row without an example becomes an example of its own. Captured ids are below 2^63, so these ids are distinct.
inline constexpr std::uint64_t first_own_query_example = std::uint64_t{1} << 63;
inline constexpr std::uint64_t first_own_key_example = first_own_query_example + (std::uint64_t{1} << 62);

/// Throws Error(input) when there are no rows, they have no components, or columns differ in length. `what` names the
/// rows in the message: "queries" or "keys".
void check_columns(const RowsView& rows, std::string_view what);

/// The rows that an analysis reads. They are borrowed as far as possible, and otherwise owned. In the view, rows
/// adjoin.
class KeptRows {
 public:
  /// Borrows the rows, which check_columns() must have passed; copies the vectors when they do not adjoin.
  explicit KeptRows(const RowsView& rows);
  /// Owns the rows.
  explicit KeptRows(HeadRows rows);
  // A copy would look at the memory of the original.
  KeptRows(const KeptRows&) = delete;
  KeptRows& operator=(const KeptRows&) = delete;
  KeptRows(KeptRows&&) noexcept = default;
  KeptRows& operator=(KeptRows&&) noexcept = default;
  ~KeptRows() = default;

  const RowsView& view() const { return view_; }

  /// Gives rows without examples one each, from `first_own_example` on, and keeps `max_tokens_per_head` of the rows,
  /// drawn by `default_rng(seed)`, where there are more.
  void subsample(const AnalysisOptions& options, std::uint64_t first_own_example);

 private:
  HeadRows owned_;  // empty columns are borrowed
  RowsView view_;
};

/// Borrows rows of which nothing is known yet. Throws Error(input), with the first row at fault, when columns differ in
/// length or a value is out of its range or not finite.
KeptRows checked_rows(const RowsView& rows, std::string_view what);

}  // namespace attention_plasticity
