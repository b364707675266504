#pragma once

namespace attention_plasticity {

/// 4 p (1 - p) for the probability p = Phi(z) that the first of two keys wins.
///
/// Computed as 4 Phi(z) Phi(-z), which keeps its digits where p rounds to 1. Relative error at most 1e-12 for results
/// down to 1e-300. Even in z; 1 at 0, 0 at the infinities, NaN for NaN.
double plasticity_of_z(double z);

/// Plasticity of a key pair whose logit difference is N(mean, variance): plasticity_of_z(mean / sqrt variance). With a
/// variance of 0 or below the same key always wins: 0, or 1 if the mean is 0 and the keys tie.
double plasticity(double mean, double variance);

}  // namespace attention_plasticity
