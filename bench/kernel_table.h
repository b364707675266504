#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// A piece of the analysis that takes time, on a fixed input that is made beforehand.
struct Kernel {
  std::string name;
  /// Runs it once. The input is restored outside of what `run` does where the kernel changes it; the result is a sum
  /// over what it computed, so that nothing is optimised away.
  std::function<double()> run;
};

/// The kernels on one synthetic head, heavy-tailed and rounded to bfloat16: `rows` queries and as many keys of `dim`
/// components in 16 buckets and 64 examples. The same input for the same arguments.
std::vector<Kernel> kernel_table(std::size_t rows, std::size_t dim);
