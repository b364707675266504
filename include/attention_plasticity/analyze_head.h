#pragma once

#include <memory>

#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/export.h"
#include "attention_plasticity/head_result.h"
#include "attention_plasticity/rotation.h"
#include "attention_plasticity/rows.h"

/// @file
/// The analysis of one head from arrays that the caller owns.

namespace attention_plasticity {

struct OrientedKeys;

/// The keys of one key head, prepared once for all query heads that read them. It borrows the rows of the view that it
/// was made from, unless they had to be copied. Several threads may read one object at the same time.
class AP_API PreparedKeys {
 public:
  /// Finds the sign of each component of the mean key, and draws `max_tokens_per_head` of the rows if there are more.
  /// Vectors are copied only when rows are drawn or do not adjoin (RowsView::row_stride).
  ///
  /// Throws Error(input) when there are no keys, columns differ in length, or a value is out of its range or not
  /// finite; Error(usage) for an option out of range; std::bad_alloc. Thread-safe.
  PreparedKeys(const RowsView& keys, const AnalysisOptions& options);
  /// Takes the keys of another object, which may then only be assigned to or destroyed. Throws nothing.
  PreparedKeys(PreparedKeys&&) noexcept;
  /// The same.
  PreparedKeys& operator=(PreparedKeys&&) noexcept;
  /// Frees what was copied.
  ~PreparedKeys();

  /// What the library makes of the keys; of no use to others. Thread-safe.
  const OrientedKeys& oriented() const { return *oriented_; }

 private:
  std::unique_ptr<const OrientedKeys> oriented_;
};

/// Measures one head: orientation, regression on position, reflection, normality, component weights, pooled plasticity,
/// position-exact plasticity, and their standard errors (docs/method.md).
///
/// `rotation` is how the head's layer rotates its vectors; null: unknown, and position-exact plasticity is not
/// measured. The result depends on the arguments alone, to the last bit on processors with the same instruction set.
/// The vectors of the view are read in place. They are copied only when more than `max_tokens_per_head` rows must be
/// drawn from, or when rows do not adjoin.
///
/// Few rows are no failure: a figure that does not exist is NaN. Without examples no key pairs can be formed, so both
/// plasticities are NaN. Fewer than 3 examples give no standard errors.
///
/// Throws Error(input) when there are no rows, columns differ in length, a value is out of its range or not finite,
/// queries and keys differ in width, or the rotation has more components than they have; Error(usage) for an option out
/// of range; std::bad_alloc. Thread-safe.
AP_API HeadResult analyze_head(const HeadId& head, const RowsView& queries, const PreparedKeys& keys,
                               const AnalysisOptions& options = {}, const Rotation* rotation = nullptr);

/// The same for a key head that only one query head reads. Thread-safe.
AP_API HeadResult analyze_head(const HeadId& head, const RowsView& queries, const RowsView& keys,
                               const AnalysisOptions& options = {}, const Rotation* rotation = nullptr);

}  // namespace attention_plasticity
