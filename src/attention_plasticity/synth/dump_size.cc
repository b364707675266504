#include "attention_plasticity/synth/dump_size.h"

namespace attention_plasticity {
namespace {

// Measured on dumps of 100 to 100,000 rows and 1 to 256 components, compressed by zstd.
constexpr double bytes_of_component = 3.72;
constexpr double bytes_of_bfloat16_component = 1.5;
constexpr double bytes_of_row = 1.5;  // bucket, example, position
constexpr double bytes_of_file = 2500;

// truth.json writes a number on a line of its own, with its digits and its indentation.
constexpr double bytes_of_number = 28;
constexpr double bytes_of_cell = 122;

double truth_bytes_of_head(const SynthOptions& options) {
  const auto dim = static_cast<double>(options.dim);
  const auto buckets = static_cast<double>(options.buckets);
  const double matrices = options.dim > 64 ? 0 : 2 * dim * dim;
  const double cells = options.truth_pairs > 0 ? buckets * (buckets - 1) / 2 : 0;
  return (4 * dim + matrices) * bytes_of_number + cells * bytes_of_cell;
}

}  // namespace

std::uint64_t estimated_dump_bytes(const SynthOptions& options) {
  const double files = static_cast<double>(options.layers) * (options.q_heads + options.k_heads);
  const double component = options.bfloat16 ? bytes_of_bfloat16_component : bytes_of_component;
  const double row = static_cast<double>(options.dim) * component + bytes_of_row;
  const double heads = static_cast<double>(options.layers) * options.q_heads;
  return static_cast<std::uint64_t>(files * (static_cast<double>(options.rows) * row + bytes_of_file) +
                                    heads * truth_bytes_of_head(options));
}

}  // namespace attention_plasticity
