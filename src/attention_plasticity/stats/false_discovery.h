#pragma once

#include <span>
#include <vector>

namespace attention_plasticity {

/// The q of each p by Benjamini & Hochberg (1995): the smallest share of false discoveries at which it would be
/// reported, min over p_j >= p of n p_j / rank_j, where n counts the p that exist. NaN, which is a p that does not
/// exist, stays NaN.
std::vector<double> false_discovery_q(std::span<const double> p);

}  // namespace attention_plasticity
