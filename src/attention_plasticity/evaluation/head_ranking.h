#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attention_plasticity/evaluation/head_labels.h"

namespace attention_plasticity {

/// One measure of all heads. Heads are sorted by layer and query head.
struct RankedMeasure {
  std::string name;
  std::vector<HeadId> heads = {};
  std::vector<double> values = {};  ///< by head; NaN where a head has none
  std::vector<double> errors = {};  ///< standard errors, by head; empty: not measured
};

/// A table for people. It shows the `count` heads with the largest values and the `count` heads with the smallest, in
/// descending order. Each line has the head's value, its standard error if errors were measured, and its labels
/// (`labels` may be null). Up to twice `count` heads are shown in one block. Heads without a value are left out; ties
/// are ordered by layer and head. Empty when no head has a value.
std::string ranking_table(const RankedMeasure& measure, std::size_t count, const HeadLabels* labels);

}  // namespace attention_plasticity
