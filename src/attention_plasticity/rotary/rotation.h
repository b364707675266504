#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attention_plasticity {

/// Which two of the rotated components form a pair: i and i + dim/2 (Llama, Qwen, Gemma, Mistral), or 2i and 2i + 1
/// (GLM, GPT-J, Cohere).
enum class RotaryLayout { half, interleaved };

/// The rotation R(t) of a rotary position embedding (RoPE): at position t, pair i of a vector is rotated by
/// t · frequency[i]. The rotated components are first .. first + dim() - 1, and the others are unchanged; without
/// frequencies R = I.
struct Rotation {
  RotaryLayout layout = RotaryLayout::half;
  std::vector<double> frequency;  ///< radians per token
  double attention_factor = 1;    ///< the model multiplies the rotated components by it (yarn, longrope)
  std::size_t first = 0;          ///< index of the first rotated component

  std::size_t dim() const { return 2 * frequency.size(); }
  /// R(tokens) v in place; a negative number un-rotates. `vector` has at least first + dim() components. Does not apply
  /// attention_factor.
  void rotate(std::span<double> vector, double tokens) const;
  void rotate(std::span<float> vector, double tokens) const;
};

}  // namespace attention_plasticity
