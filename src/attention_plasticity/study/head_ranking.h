#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "attention_plasticity/study/head_labels.h"
#include "attention_plasticity/results/head_metrics.h"

namespace attention_plasticity {

/// For people: the `count` heads with the largest values of a measure and the `count` with the smallest, largest first,
/// each with its standard error (the column of the measure's name and `_se`, where there is one) and its labels
/// (`labels` may be null). All heads in one block when there are no more than twice `count`. Heads without a value do
/// not count, and ties go by layer and head. Empty when no head has a value.
std::string ranking_table(const HeadMetrics& metrics, std::string_view measure, std::size_t count,
                          const HeadLabels* labels);

}  // namespace attention_plasticity
