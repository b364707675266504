#pragma once

#include <cstddef>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/random/numpy_generator.h"

namespace attention_plasticity {

/// A random orthogonal matrix, uniform over the group (Haar), from 2 dim² draws of `random()`: with u the draws as dim
/// × dim × 2, the rows of g = sqrt(-2 log(1 - u[..., 0])) cos(2 pi u[..., 1]) (Box & Muller 1958), made orthonormal
/// from the first on. In NumPy: `q, r = qr(g.T); axes = (q * sign(diag(r))).T`.
Matrix random_axes(std::size_t dim, NumpyGenerator& generator);

}  // namespace attention_plasticity
