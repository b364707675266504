#include "attention_plasticity/capture/llama/graph_reader.h"

#include <fmt/format.h>
#include <ggml-backend.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// Longer chains between a rotation and an attention do not occur.
constexpr int deepest = 24;

bool keeps_components_apart(ggml_op op) {
  constexpr std::array<ggml_op, 15> ops{GGML_OP_VIEW, GGML_OP_RESHAPE, GGML_OP_PERMUTE,  GGML_OP_TRANSPOSE,
                                        GGML_OP_CONT, GGML_OP_CPY,     GGML_OP_DUP,      GGML_OP_SCALE,
                                        GGML_OP_NORM, GGML_OP_MUL,     GGML_OP_RMS_NORM, GGML_OP_L2_NORM,
                                        GGML_OP_ADD,  GGML_OP_REPEAT,  GGML_OP_CLAMP};
  return std::ranges::find(ops, op) != ops.end();
}

// One number for a whole vector keeps its direction; numbers for its components do not.
bool acts_on_components(const ggml_tensor* node) {
  return (node->op == GGML_OP_MUL || node->op == GGML_OP_ADD) && node->src[1] != nullptr && node->src[1]->ne[0] > 1;
}

RotatingNode rotating_node(const ggml_tensor* tensor, RotatingNode so_far, int depth) {
  if (tensor == nullptr || depth > deepest) return {};
  if (tensor->op == GGML_OP_ROPE) {
    so_far.node = tensor;
    return so_far;
  }
  if (tensor->op == GGML_OP_CONCAT) {
    if (const RotatingNode left = rotating_node(tensor->src[0], so_far, depth + 1); left.node != nullptr) return left;
    so_far.first += static_cast<int>(tensor->src[0]->ne[0]);
    return rotating_node(tensor->src[1], so_far, depth + 1);
  }
  if (!keeps_components_apart(tensor->op)) return {};
  so_far.weights_after = so_far.weights_after || acts_on_components(tensor);
  return rotating_node(tensor->src[0], so_far, depth + 1);
}

void to_floats(ggml_type type, const char* from, float* to, std::size_t count) {
  if (type == GGML_TYPE_F32) {
    std::memcpy(to, from, count * sizeof(float));
    return;
  }
  const ggml_type_traits* const traits = ggml_get_type_traits(type);
  if (traits == nullptr || traits->to_float == nullptr) {
    throw Error(ErrorKind::input, fmt::format("vectors of type {} cannot be read", ggml_type_name(type)));
  }
  traits->to_float(from, to, static_cast<std::int64_t>(count));
}

}  // namespace

std::optional<AttentionInputs> attention_inputs(const ggml_tensor* node) {
  if (node->op == GGML_OP_FLASH_ATTN_EXT) return AttentionInputs{node->src[0], node->src[1]};
  if (node->op == GGML_OP_MUL_MAT && std::string_view(node->name).starts_with("kq-")) {
    return AttentionInputs{node->src[1], node->src[0]};
  }
  return std::nullopt;
}

std::optional<int> layer_in_name(std::string_view name) {
  name = name.substr(0, name.find(' '));
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  int layer = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + dash + 1, end, layer);
  return parsed.ec == std::errc() && parsed.ptr == end && layer >= 0 ? std::optional(layer) : std::nullopt;
}

const ggml_tensor* viewed(const ggml_tensor* tensor) {
  while (tensor->view_src != nullptr) tensor = tensor->view_src;
  return tensor;
}

RotatingNode rotating_node(const ggml_tensor* tensor) { return rotating_node(tensor, {}, 0); }

RopeParameters rope_parameters(const RotatingNode& rotating) {
  std::array<std::int32_t, 16> whole{};
  std::memcpy(whole.data(), rotating.node->op_params, sizeof whole);
  std::array<float, 6> real{};
  std::memcpy(real.data(), whole.data() + 5, sizeof real);
  RopeParameters parameters;
  parameters.dims = whole[1];
  const std::int32_t mode = whole[2];
  parameters.original_length = whole[4];
  parameters.first = rotating.first + whole[15];
  parameters.adjacent_pairs = mode == GGML_ROPE_TYPE_NORMAL;
  parameters.base = static_cast<double>(real[0]);
  parameters.scale = static_cast<double>(real[1]);
  parameters.extrapolation = static_cast<double>(real[2]);
  parameters.magnitude = static_cast<double>(real[3]);
  parameters.beta_fast = static_cast<double>(real[4]);
  parameters.beta_slow = static_cast<double>(real[5]);
  constexpr auto several_positions = static_cast<unsigned>(GGML_ROPE_TYPE_MROPE);
  if ((static_cast<unsigned>(mode) & several_positions) != 0) {
    parameters.still =
        still_pairs(parameters.dims, {whole[11], whole[12], whole[13], whole[14]}, mode == GGML_ROPE_TYPE_IMROPE);
  }
  if (const ggml_tensor* const factors = rotating.node->src[2]) {
    parameters.factors = all_numbers(factors);
    parameters.factors.resize(std::min(parameters.factors.size(), static_cast<std::size_t>(parameters.dims / 2)));
  }
  return parameters;
}

void RowReader::read(const ggml_tensor* tensor, std::span<const int> heads, std::span<const int> rows,
                     std::vector<float>& out) {
  const auto width = static_cast<std::size_t>(tensor->ne[0]);
  const auto all_heads = static_cast<std::size_t>(tensor->ne[2]);
  const std::size_t vector = ggml_row_size(tensor->type, tensor->ne[0]);
  const std::size_t most_rows = std::max<std::size_t>(1, most_bytes / (all_heads * vector));
  out.resize(heads.size() * rows.size() * width);
  for (std::size_t begin = 0; begin < rows.size(); begin += most_rows) {
    const std::size_t count = std::min(most_rows, rows.size() - begin);
    pieces_.clear();
    for (const int row : rows.subspan(begin, count)) add_pieces(tensor, row, vector);
    const std::span<const char> bytes = copies_.read(tensor, pieces_);
    for (std::size_t row = 0; row < count; ++row) {
      for (std::size_t i = 0; i < heads.size(); ++i) {
        const char* const from = bytes.data() + (row * all_heads + static_cast<std::size_t>(heads[i])) * vector;
        to_floats(tensor->type, from, out.data() + (i * rows.size() + begin + row) * width, width);
      }
    }
  }
}

void RowReader::add_pieces(const ggml_tensor* tensor, int row, std::size_t vector) {
  for (std::int64_t head = 0; head < tensor->ne[2]; ++head) {
    const std::size_t at =
        static_cast<std::size_t>(row) * tensor->nb[1] + static_cast<std::size_t>(head) * tensor->nb[2];
    if (!pieces_.empty() && pieces_.back().offset + pieces_.back().bytes == at) {
      pieces_.back().bytes += vector;
    } else {
      pieces_.push_back({at, vector});
    }
  }
}

std::vector<float> all_numbers(const ggml_tensor* tensor) {
  std::vector<float> numbers(static_cast<std::size_t>(ggml_nelements(tensor)));
  std::vector<char> row(ggml_row_size(tensor->type, tensor->ne[0]));
  const auto width = static_cast<std::size_t>(tensor->ne[0]);
  float* to = numbers.data();
  for (std::int64_t i3 = 0; i3 < tensor->ne[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < tensor->ne[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < tensor->ne[1]; ++i1) {
        const auto at = static_cast<std::size_t>(i3) * tensor->nb[3] + static_cast<std::size_t>(i2) * tensor->nb[2] +
                        static_cast<std::size_t>(i1) * tensor->nb[1];
        ggml_backend_tensor_get(tensor, row.data(), at, row.size());
        to_floats(tensor->type, row.data(), to, width);
        to += width;
      }
    }
  }
  return numbers;
}

VisibleKeys visible_keys(const ggml_tensor* mask, int queries) {
  std::vector<char> row(ggml_row_size(mask->type, mask->ne[0]));
  std::vector<float> values(static_cast<std::size_t>(mask->ne[0]));
  const auto count = [&](int query) {
    ggml_backend_tensor_get(mask, row.data(), static_cast<std::size_t>(query) * mask->nb[1], row.size());
    to_floats(mask->type, row.data(), values.data(), values.size());
    return static_cast<int>(std::ranges::count_if(values, [](float value) { return std::isfinite(value); }));
  };
  return {count(0), count(queries - 1)};
}

}  // namespace attention_plasticity
