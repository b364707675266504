#pragma once

#include <cstddef>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/random/numpy_generator.h"

namespace attention_plasticity {

/// A random orthogonal matrix, uniform over the orthogonal group (Haar), from 2 dim² draws of `random()`.
///
/// Let u be the draws in the shape dim × dim × 2. The rows of g = sqrt(-2 log(1 - u[..., 0])) cos(2 pi u[..., 1]) (Box
/// & Muller 1958) are made orthonormal, from the first to the last. In NumPy: `q, r = qr(g.T); axes = (q *
/// sign(diag(r))).T`.
Matrix random_axes(std::size_t dim, NumpyGenerator& generator);

}  // namespace attention_plasticity
