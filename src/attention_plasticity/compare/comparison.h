#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/compare/compared_run.h"
#include "attention_plasticity/rows.h"

// The difference between two runs, head by head, with its error.

namespace attention_plasticity {

/// A value in two runs and its change.
struct Difference {
  double a = std::numeric_limits<double>::quiet_NaN();
  double b = std::numeric_limits<double>::quiet_NaN();
  double difference = std::numeric_limits<double>::quiet_NaN();  ///< b - a
  double error = std::numeric_limits<double>::quiet_NaN();       ///< standard error of the difference
  double z = std::numeric_limits<double>::quiet_NaN();           ///< difference / error; NaN where the error is 0
  double p = std::numeric_limits<double>::quiet_NaN();           ///< two-sided, Student's t
};

struct HeadDifference : Difference {
  HeadId head;
  double q = std::numeric_limits<double>::quiet_NaN();  ///< Benjamini-Hochberg over the heads of the column
};

/// One column of head_metrics.csv in two runs.
struct ColumnComparison {
  std::string column;
  bool has_errors = false;
  std::vector<HeadDifference> heads;  ///< matched heads, by layer and query head
  Difference model;                   ///< means over the heads that have both values
  std::size_t count = 0;              ///< those heads
  std::size_t up = 0;                 ///< heads that moved up at `level`
  std::size_t down = 0;
  double rank_correlation = std::numeric_limits<double>::quiet_NaN();  ///< Spearman's, over the same heads
};

struct ComparisonOptions {
  std::vector<std::string> columns;  ///< of head_metrics.csv; empty: those that have values without each group
  double level = 0.05;               ///< a head moved when its q is below this
};

struct Comparison {
  bool paired = false;          ///< the same documents, so that errors come from differences group by group
  std::size_t documents_a = 0;  ///< 0: unknown
  std::size_t documents_b = 0;  ///< likewise
  std::size_t matched = 0;      ///< heads in both runs
  std::size_t only_a = 0;
  std::size_t only_b = 0;
  double level = 0.05;
  std::vector<ColumnComparison> columns;
  std::vector<std::string> caveats;  ///< what makes the runs differ besides their models; one line each
};

/// Throws Error(input) when the runs cannot be compared: models of other shapes, no head in both, no column with
/// values. Throws Error(usage), with the nearest name, for a column that does not exist.
Comparison compare(const ComparedRun& a, const ComparedRun& b, const ComparisonOptions& options = {});

/// Sets the error, z and p of a difference, given its error and the number of groups that it comes from.
void set_error(Difference& difference, double error, std::size_t groups);
/// Sets them from the leave-one-out values of both runs. If the runs are not paired, the error is `unpaired` and the
/// degrees of freedom are those of the fewer groups.
void set_error(Difference& difference, const LeaveOneOut& a, const LeaveOneOut& b, bool paired, double unpaired);

/// The column of head_metrics.csv with the standard errors of another; empty: none.
std::string_view error_column(std::string_view column);

/// Whether a head moved at this level.
inline bool has_moved(const HeadDifference& head, double level) { return head.q < level; }

}  // namespace attention_plasticity
