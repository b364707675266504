#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// A part of the analysis that takes time, with a fixed input that is made beforehand.
struct Kernel {
  std::string name;
  /// Runs the kernel once. The input is the same each time. The result is a sum over the computed values, so that
  /// nothing is optimised away.
  std::function<double()> run;
};

/// The kernels on one synthetic head, heavy-tailed and rounded to bfloat16: `rows` queries and as many keys of `dim`
/// components in 16 buckets and 64 examples. The same arguments give the same input.
std::vector<Kernel> kernel_table(std::size_t rows, std::size_t dim);
