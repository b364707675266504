#include "attention_plasticity/capture/llama/taken_rows.h"

#include <cstdint>

namespace attention_plasticity {

TensorView tokens_of(const std::vector<float>& vectors, std::size_t heads, std::size_t width, std::size_t first,
                     std::size_t count) {
  const std::size_t all = heads == 0 || width == 0 ? 0 : vectors.size() / (heads * width);
  TensorView view;
  view.data = vectors.data() + first * width;
  view.shape = {heads, count, width};
  view.stride = {static_cast<std::int64_t>(all * width), static_cast<std::int64_t>(width), 1};
  return view;
}

}  // namespace attention_plasticity
