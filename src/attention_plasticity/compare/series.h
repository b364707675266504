#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention_plasticity/compare/comparison.h"

// Several runs in an order, such as the checkpoints of a training: the way of each head, and where it changes.

namespace attention_plasticity {

/// What orders the runs of a series.
struct SeriesAxis {
  std::string name = "run";    ///< what x is: "step"
  std::vector<double> values;  ///< of each run, finite
};

/// The axis of runs in these folders: the number in which their names differ ("step-500", "step-1000"), named after the
/// letters before it, and otherwise their order, from 0.
SeriesAxis axis_of_names(std::span<const std::string> folders);

/// The axis that a text describes for these folders: NAME=V1,V2,... in the order of the folders, or the path of a CSV
/// file with a column `results` that names the folders and a second column of numbers. Throws Error(usage) for values
/// that do not fit the folders.
SeriesAxis parse_axis(const std::string& text, std::span<const std::string> folders);

/// A head, or the mean over heads, in one run of a series.
struct SeriesPoint {
  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::quiet_NaN();  ///< standard error of the value
  HeadDifference change;  ///< from the run before, with its error; NaN in the first run. `a` and `b` are the two values
  /// 1: the value reached the threshold from below in this run; -1: it fell below it; 0: neither.
  int crossing = 0;
};

struct HeadSeries {
  HeadId head;
  std::vector<SeriesPoint> points;  ///< by run
};

struct ColumnSeries {
  std::string column;
  bool has_errors = false;
  std::vector<HeadSeries> heads;   ///< heads of all runs, by layer and query head
  std::vector<SeriesPoint> model;  ///< means over the heads that have a value in every run
  std::size_t count = 0;           ///< those heads
};

struct SeriesOptions {
  std::vector<std::string> columns;  ///< as in ComparisonOptions
  double level = 0.05;               ///< a head changed between two runs when its q is below this
  double threshold = 0.5;            ///< whose crossing is told
};

struct Series {
  SeriesAxis axis;                 ///< ascending
  std::vector<std::size_t> order;  ///< the runs as given, in the order of the axis
  std::vector<bool> paired;        ///< by run: it measured the same documents as the run before; false for the first
  std::vector<ColumnSeries> columns;
  double level = 0.05;
  double threshold = 0.5;
  std::size_t left_out = 0;          ///< heads that some runs do not have
  std::vector<std::string> caveats;  ///< of neighbouring runs, each once
};

/// Throws as compare() does for neighbouring runs, and Error(usage) for fewer than two runs or an x that occurs twice.
Series make_series(std::span<const ComparedRun> runs, const SeriesAxis& axis, const SeriesOptions& options = {});

}  // namespace attention_plasticity
