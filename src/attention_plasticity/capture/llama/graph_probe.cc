#include "attention_plasticity/capture/llama/graph_probe.h"

#include <ggml-backend.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>

namespace attention_plasticity {
namespace {

template <std::size_t Count>
std::array<float, Count> float_parameters(const ggml_tensor* node) {
  std::array<float, Count> values{};
  std::memcpy(values.data(), node->op_params, sizeof values);
  return values;
}

std::vector<int> from_zero(std::int64_t count, int first = 0) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// 1 - cosine; 0 for two vectors of zeros.
double angle_error(std::span<const float> a, std::span<const float> b) {
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i];
    const double y = b[i];
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  if (aa == 0 && bb == 0) return 0;
  const double error = 1 - ab / std::sqrt(aa * bb);
  return std::isfinite(error) ? error : 2;
}

bool same_rotation(const RopeParameters& a, const RopeParameters& b) {
  return a.adjacent_pairs == b.adjacent_pairs && a.first == b.first &&
         rotation_of(a).rotation.frequency == rotation_of(b).rotation.frequency;
}

}  // namespace

void GraphProbe::batch(int first, int count) {
  first_ = first;
  count_ = count;
  layer_ = -1;
}

const std::map<int, ProbedLayer>& GraphProbe::layers() const {
  if (failure_) std::rethrow_exception(failure_);
  return layers_;
}

// Every node is computed on its own, so that what stands above the next one can be read when that is asked for; later
// its memory may hold something else.
bool GraphProbe::see(ggml_tensor* node, bool ask) {
  if (failure_) return ask;
  try {
    if (ask) {
      ask_for(node);
    } else {
      look_at(node);
    }
    return true;
  } catch (...) {
    failure_ = std::current_exception();
    return ask;
  }
}

void GraphProbe::ask_for(const ggml_tensor* node) {
  if (const std::optional<int> layer = layer_in_name(node->name)) layer_ = *layer;
  if (node->op == GGML_OP_SET_ROWS) {
    written_[viewed(node)] = node->src[0];
    if (node->src[0]->ne[1] == count_) written_numbers_[viewed(node)] = all_numbers(node->src[0]);
  }
  if (node->op != GGML_OP_ROPE) return;
  const ggml_tensor* const above = node->src[0];
  if (above->ne[2] != count_ || above->ne[3] != 1) return;
  Unrotated& unrotated = unrotated_[node];
  unrotated.vectors = all_numbers(above);
  unrotated.heads = static_cast<std::size_t>(above->ne[1]);
  unrotated.width = static_cast<std::size_t>(above->ne[0]);
  unrotated.positions.resize(static_cast<std::size_t>(count_));
  ggml_backend_tensor_get(node->src[1], unrotated.positions.data(), 0,
                          unrotated.positions.size() * sizeof(std::int32_t));
}

void GraphProbe::look_at(const ggml_tensor* node) {
  if (node->op == GGML_OP_SOFT_MAX && layers_.contains(layer_)) look_at_softmax(node);
  const std::optional<AttentionInputs> inputs = attention_inputs(node);
  if (!inputs || layer_ < 0) return;
  ProbedLayer& probed = layers_[layer_];
  if (++probed.met == 1) describe(probed, node, *inputs);
}

void GraphProbe::describe(ProbedLayer& probed, const ggml_tensor* node, const AttentionInputs& inputs) {
  AttentionLayer& layer = probed.layer;
  layer.q_heads = static_cast<int>(inputs.queries->ne[2]);
  layer.k_heads = static_cast<int>(inputs.keys->ne[2]);
  layer.width = static_cast<std::size_t>(inputs.queries->ne[0]);
  probed.visible = {first_ + count_, first_ + count_};
  if (node->op == GGML_OP_FLASH_ATTN_EXT) {
    const auto [scale, distance_bias, softcap] = float_parameters<3>(node);
    layer.scale = static_cast<double>(scale);
    layer.softcap = static_cast<double>(softcap);
    probed.distance_bias = static_cast<double>(distance_bias);
    if (node->src[4] != nullptr) layer.sinks = all_numbers(node->src[4]);
    if (node->src[3] != nullptr) read_mask(probed, node->src[3]);
  }
  const ggml_tensor* const cache = viewed(inputs.keys);
  const auto written = written_.find(cache);
  probed.has_cache = written != written_.end();
  const RotatingNode q_node = rotating_node(inputs.queries);
  const RotatingNode k_node = rotating_node(probed.has_cache ? written->second : inputs.keys);
  probed.q_weights_after = q_node.node != nullptr && q_node.weights_after;
  probed.k_weights_after = k_node.node != nullptr && k_node.weights_after;
  if (q_node.node != nullptr) layer.rope = rope_parameters(q_node);
  if (k_node.node != nullptr) {
    probed.rotated_alike = layer.rope && same_rotation(*layer.rope, rope_parameters(k_node));
  } else {
    probed.rotated_alike = !layer.rope;
  }
  if (q_node.node != nullptr) probed.q_error = rotation_error(q_node, inputs.queries, 0);
  if (k_node.node != nullptr) probed.k_error = rotation_error(k_node, inputs.keys, first_);
  if (const std::optional<double> error = cache_error(inputs.keys)) {
    probed.k_error = std::max(probed.k_error.value_or(0), *error);
  }
}

// Where attention is computed in single steps, its rule stands at the node that turns logits into weights.
void GraphProbe::look_at_softmax(const ggml_tensor* node) {
  const ggml_tensor* logits = node->src[0];
  std::vector<const ggml_tensor*> scales;
  bool has_tanh = false;
  bool has_bias = false;
  while (logits != nullptr && !attention_inputs(logits)) {
    if (logits->op == GGML_OP_SCALE) scales.push_back(logits);
    has_tanh = has_tanh || (logits->op == GGML_OP_UNARY && ggml_get_unary_op(logits) == GGML_UNARY_OP_TANH);
    has_bias = has_bias || logits->op == GGML_OP_ADD;
    logits = logits->src[0];
  }
  if (logits == nullptr) return;  // the weights of experts, not of keys
  ProbedLayer& probed = layers_[layer_];
  probed.logit_bias = has_bias;
  const auto [scale, distance_bias] = float_parameters<2>(node);
  probed.layer.scale = static_cast<double>(scale);
  probed.distance_bias = static_cast<double>(distance_bias);
  if (has_tanh && scales.size() == 2) {
    // x becomes cap * tanh(x * inner); the softmax multiplies by its own scale.
    const double cap = static_cast<double>(float_parameters<1>(scales.front())[0]);
    const double inner = static_cast<double>(float_parameters<1>(scales.back())[0]);
    probed.layer.softcap = cap * static_cast<double>(scale);
    probed.layer.scale = cap * inner * static_cast<double>(scale);
  }
  if (node->src[1] != nullptr) read_mask(probed, node->src[1]);
  if (node->src[2] != nullptr) probed.layer.sinks = all_numbers(node->src[2]);
}

void GraphProbe::read_mask(ProbedLayer& probed, const ggml_tensor* mask) const {
  probed.visible = visible_keys(mask, count_);
}

std::optional<double> GraphProbe::rotation_error(const RotatingNode& rotating, const ggml_tensor* captured,
                                                 int origin) {
  const auto found = unrotated_.find(rotating.node);
  if (found == unrotated_.end()) return std::nullopt;
  const Unrotated& before = found->second;
  const auto heads = static_cast<std::size_t>(captured->ne[2]);
  if (before.heads != heads && before.heads != 1) return std::nullopt;
  const RopeParameters parameters = rope_parameters(rotating);
  Rotation rotation = rotation_of(parameters).rotation;
  const auto dims = rotation.dim();
  const std::size_t own_first = static_cast<std::size_t>(parameters.first - rotating.first);
  rotation.first = 0;
  rotation.layout = parameters.adjacent_pairs ? RotaryLayout::interleaved : RotaryLayout::half;
  const auto width = static_cast<std::size_t>(captured->ne[0]);
  const auto tokens = static_cast<std::size_t>(count_);
  if (parameters.first + parameters.dims > static_cast<int>(width)) return std::nullopt;
  std::vector<float> after;
  reader_.read(captured, from_zero(captured->ne[2]), from_zero(count_, origin), after);
  std::vector<float> expected(dims);
  double worst = 0;
  for (std::size_t head = 0; head < heads; ++head) {
    const std::size_t own_head = before.heads == 1 ? 0 : head;
    for (std::size_t token = 0; token < tokens; ++token) {
      const float* const from = before.vectors.data() + (token * before.heads + own_head) * before.width + own_first;
      std::copy_n(from, dims, expected.begin());
      rotation.rotate(std::span(expected), before.positions[token]);
      const float* const got =
          after.data() + (head * tokens + token) * width + static_cast<std::size_t>(parameters.first);
      worst = std::max(worst, angle_error(expected, std::span(got, dims)));
    }
  }
  return worst;
}

std::optional<double> GraphProbe::cache_error(const ggml_tensor* keys) {
  const auto found = written_numbers_.find(viewed(keys));
  if (found == written_numbers_.end()) return std::nullopt;
  const auto heads = static_cast<std::size_t>(keys->ne[2]);
  const auto width = static_cast<std::size_t>(keys->ne[0]);
  const auto tokens = static_cast<std::size_t>(count_);
  const std::vector<float>& written = found->second;
  if (written.size() != heads * width * tokens) return std::nullopt;
  std::vector<float> cells;
  reader_.read(keys, from_zero(keys->ne[2]), from_zero(count_, first_), cells);
  double worst = 0;
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t token = 0; token < tokens; ++token) {
      const std::span<const float> cell(cells.data() + (head * tokens + token) * width, width);
      const std::span<const float> own(written.data() + (token * heads + head) * width, width);
      worst = std::max(worst, angle_error(cell, own));
    }
  }
  return worst;
}

}  // namespace attention_plasticity
