#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attention_plasticity {

/// Which components turn together: i and i + dim/2 (Llama, Qwen, Gemma, Mistral), or 2i and 2i + 1 (GLM, GPT-J,
/// Cohere).
enum class RotaryLayout { half, interleaved };

/// The rotation R(t) of a rotary position embedding: at position t, pair i of a vector is turned by t · frequency[i].
/// Components from dim() on stay as they are; without frequencies R = I.
struct Rotation {
  RotaryLayout layout = RotaryLayout::half;
  std::vector<double> frequency;  ///< radians per token
  double attention_factor = 1;    ///< what the model scales the turned components by (yarn, longrope)

  std::size_t dim() const { return 2 * frequency.size(); }
  /// R(tokens) v in place; a negative number turns back. `vector` has at least dim() components. Does not scale.
  void turn(std::span<double> vector, double tokens) const;
  void turn(std::span<float> vector, double tokens) const;
};

}  // namespace attention_plasticity
