#pragma once

#include <array>
#include <cstdint>

#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/random/numpy_generator.h"

namespace attention_plasticity {

/// The purposes of a head file's random numbers. Each purpose has its own generator, so that an option changes only its
/// own part of the data: rotation or tails do not change the positions.
enum class Stream : std::uint32_t {
  axes = 0,
  path = 1,
  places = 2,
  effects = 3,
  noise = 4,
  truth = 5,
  exact_truth = 6
};

/// [seed mod 2^32, seed / 2^32, layer + 2^16 head, 2 stream + side] with side 0 for queries and 1 for keys. NumPy's
/// `default_rng(words)` is the stream's generator.
std::array<std::uint32_t, 4> stream_seed(std::uint64_t seed, Side side, HeadNumber head, Stream stream);

NumpyGenerator stream_generator(std::uint64_t seed, Side side, HeadNumber head, Stream stream);

}  // namespace attention_plasticity
