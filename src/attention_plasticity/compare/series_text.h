#pragma once

#include <span>
#include <string>

#include "attention_plasticity/compare/comparison_text.h"
#include "attention_plasticity/compare/series.h"

namespace attention_plasticity {

/// The columns of head_series.csv.
std::span<const DifferenceColumn> series_columns();

/// head_series.csv: one row for each column, head and run.
std::string series_csv(const Series& series);

/// series.json: the runs, the model's way, changes between neighbours and the heads that cross the threshold.
std::string series_json(const Series& series, std::span<const ComparedRun> runs);

/// For people: the model's mean by run, how many heads changed, and which crossed the threshold when.
std::string series_table(const Series& series, std::span<const ComparedRun> runs);

}  // namespace attention_plasticity
