#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "attention_plasticity/capture/tensor_view.h"

namespace attention_plasticity {

/// The heads and tokens of a layer whose queries and keys are taken. Tokens are numbered through all texts that are
/// read together; all lists ascend.
struct WantedRows {
  std::vector<int> q_heads;
  std::vector<int> k_heads;
  std::vector<int> q_tokens;
  std::vector<int> k_tokens;
};

/// The vectors that were taken of a layer, in half layout: [heads x tokens x components].
struct TakenRows {
  std::vector<float> queries;
  std::vector<float> keys;
  std::size_t width = 0;
};

/// Takes the rows of a layer.
using DeliverRows = std::function<void(int layer, const TakenRows& rows)>;

/// All of the rows of `count` tokens from `first` on, of vectors [heads x tokens x width].
TensorView tokens_of(const std::vector<float>& vectors, std::size_t heads, std::size_t width, std::size_t first,
                     std::size_t count);

}  // namespace attention_plasticity
