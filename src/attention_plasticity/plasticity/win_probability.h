#pragma once

namespace attention_plasticity {

/// 4 p (1 - p) for the probability p = Phi(z) that the first of two keys wins.
///
/// Computed as 4 Phi(z) Phi(-z), so that it keeps its digits where p rounds to 1: within 1e-12 of the value down to
/// 1e-300. Even in z, 1 at 0, 0 at the infinities, NaN for NaN.
double plasticity_of_z(double z);

/// Plasticity of a key pair whose logit difference is N(mean, variance): plasticity_of_z(mean / sqrt variance).
/// With no variance the same key always wins, 0, unless the keys tie, 1; a negative variance counts as none.
double plasticity(double mean, double variance);

}  // namespace attention_plasticity
