#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attention_plasticity/study/head_labels.h"

namespace attention_plasticity {

/// A measure of heads that are sorted by layer and query head.
struct RankedMeasure {
  std::string name;
  std::vector<HeadId> heads = {};
  std::vector<double> values = {};  ///< by head; NaN where a head has none
  std::vector<double> errors = {};  ///< standard errors, by head; empty: not measured
};

/// A table for people: the `count` heads with the largest values and the `count` with the smallest, largest first, each
/// with its standard error (where they were measured) and its labels (`labels` may be null). All heads stand in
/// one block when there are no more than twice `count`. Heads without a value are left out, and ties go by layer and
/// head. Empty when no head has a value.
std::string ranking_table(const RankedMeasure& measure, std::size_t count, const HeadLabels* labels);

}  // namespace attention_plasticity
