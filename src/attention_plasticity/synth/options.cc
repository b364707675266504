#include "attention_plasticity/synth/options.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// The seed of a stream has 16 bits for each.
constexpr int most_layers_or_heads = 65535;
// With larger sizes float32 components would lose the noise.
constexpr double largest_size = 1e5;
// More than any model has, and few enough for positions to be exact in double.
constexpr std::size_t most_log_buckets = 40;
constexpr std::size_t most_tokens = std::size_t{1} << most_log_buckets;

[[noreturn]] void refuse(std::string_view option, const std::string& rule) {
  throw Error(ErrorKind::usage, fmt::format("{} {}", option, rule));
}

void check_count(std::string_view option, int value) {
  if (value < 1 || value > most_layers_or_heads) {
    refuse(option, fmt::format("must be from 1 to {}, not {}", most_layers_or_heads, value));
  }
}

void check_count(std::string_view option, std::size_t value, std::size_t least, std::size_t most) {
  if (value < least || value > most) refuse(option, fmt::format("must be from {} to {}, not {}", least, most, value));
}

void check_size(std::string_view option, double value, double largest) {
  const bool inside = value >= 0 && value <= largest;  // false for NaN
  if (!inside) refuse(option, fmt::format("must be from 0 to {}, not {}", largest, value));
}

void check_shape(const SynthOptions& options) {
  check_count("layers", options.layers);
  check_count("q_heads", options.q_heads);
  check_count("k_heads", options.k_heads);
  if (options.q_heads % options.k_heads != 0) {
    refuse("q_heads",
           fmt::format("must be a multiple of k_heads: {} is not a multiple of {}", options.q_heads, options.k_heads));
  }
  constexpr std::size_t most = std::size_t{1} << 31;
  check_count("rows", options.rows, 1, most);
  check_count("dim", options.dim, 1, 4096);
  check_count("examples", options.examples, 1, most);
}

void check_context(const SynthOptions& options) {
  if (options.spacing == BucketSpacing::log) {
    check_count("buckets", options.buckets, 1, most_log_buckets);
    return;
  }
  check_count("bucket_size", options.bucket_size, 2, most_tokens);
  check_count("buckets", options.buckets, 1, most_tokens / options.bucket_size);
}

void check_rotation(const SynthOptions& options) {
  if (!options.rope_theta) {
    if (options.rope_layout != RotaryLayout::half) refuse("rope_layout", "needs rope_theta");
    if (options.rope_dim) refuse("rope_dim", "needs rope_theta");
    if (options.rope_first != 0) refuse("rope_first", "needs rope_theta");
    return;
  }
  const bool usable = *options.rope_theta > 1 && std::isfinite(*options.rope_theta);
  if (!usable) {
    refuse("rope_theta", fmt::format("must be a number above 1, not {}", *options.rope_theta));
  }
  if (options.dim % 2 != 0) refuse("dim", fmt::format("must be even with rope_theta, not {}", options.dim));
  check_count("rope_first", options.rope_first, 0, options.dim - 2);
  const std::size_t most = options.dim - options.rope_first;
  const std::size_t rotated = options.rope_dim.value_or(most);
  check_count("rope_dim", rotated, 2, most);
  if (rotated % 2 != 0) refuse("rope_dim", fmt::format("must be even, not {}", rotated));
}

void check_window(const SynthOptions& options) {
  if (options.window && *options.window < 1) {
    refuse("window", fmt::format("must be at least 1 token, not {}", *options.window));
  }
  if (!options.window && !options.sliding_layers.empty()) refuse("sliding_layers", "need a window");
  for (const int layer : options.sliding_layers) {
    if (layer < 0 || layer >= options.layers) {
      refuse("sliding_layers", fmt::format("must be from 0 to {}, not {}", options.layers - 1, layer));
    }
  }
}

}  // namespace

void check(const SynthOptions& options) {
  check_shape(options);
  check_context(options);
  check_size("slope", options.slope, largest_size);
  check_size("mean", options.mean, largest_size);
  check_size("example_effect", options.example_effect, largest_size);
  check_size("spectrum", options.spectrum, 4);
  check_rotation(options);
  check_window(options);
}

}  // namespace attention_plasticity
