#include "attention_plasticity/capture/llama/attention_tap.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

void to_halves(std::vector<float>& vectors, const AttentionLayer& layer, std::vector<float>& scratch) {
  if (!layer.rope || !layer.rope->adjacent_pairs) return;
  for (std::size_t at = 0; at < vectors.size(); at += layer.width) {
    halve_pairs(vectors.data() + at, layer.rope->first, layer.rope->dims, scratch);
  }
}

// Batches of [heads x own tokens x width], one after the other, become [heads x all tokens x width].
std::vector<float> joined(std::vector<std::vector<float>> batches, std::size_t heads) {
  if (batches.size() == 1) return std::move(batches.front());
  std::vector<float> all;
  all.reserve(std::accumulate(batches.begin(), batches.end(), std::size_t{0},
                              [](std::size_t sum, const std::vector<float>& batch) { return sum + batch.size(); }));
  for (std::size_t head = 0; head < heads; ++head) {
    for (const std::vector<float>& batch : batches) {
      const auto per_head = static_cast<std::ptrdiff_t>(batch.size() / heads);
      const auto begin = batch.begin() + static_cast<std::ptrdiff_t>(head) * per_head;
      all.insert(all.end(), begin, begin + per_head);
    }
  }
  return all;
}

}  // namespace

void AttentionTap::begin(std::map<int, WantedRows> wanted) {
  wanted_ = std::move(wanted);
  queries_.clear();
  failure_ = nullptr;
}

void AttentionTap::batch(int first, int count, bool is_last) {
  first_ = first;
  count_ = count;
  is_last_ = is_last;
  // After a failure nothing more is taken, so that no graph need be computed.
  has_ended_ = wanted_.empty() || failure_ != nullptr;
  layer_ = -1;
  seen_.clear();
}

bool AttentionTap::see(ggml_tensor* node, bool ask) {
  try {
    return looked_at(node, ask);
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
    has_ended_ = true;
    return ask;
  }
}

bool AttentionTap::looked_at(ggml_tensor* node, bool ask) {
  // A part of the graph on another device begins anew: its first node is computed, and no further one.
  if (has_ended_) return ask;
  if (ask) {
    if (const std::optional<int> layer = layer_in_name(node->name)) layer_ = *layer;
    return wanted_.contains(layer_) && attention_inputs(node);
  }
  if (const std::optional<AttentionInputs> inputs = attention_inputs(node)) take(*inputs, layer_);
  has_ended_ = layer_ >= wanted_.rbegin()->first;
  return !has_ended_;
}

void AttentionTap::take(const AttentionInputs& inputs, int layer) {
  const AttentionLayer& shape = layers_.at(static_cast<std::size_t>(layer));
  const WantedRows& wanted = wanted_.at(layer);
  const auto fits = [&](const ggml_tensor* tensor, int heads, int rows) {
    return tensor->ne[0] == static_cast<std::int64_t>(shape.width) && tensor->ne[2] == heads && tensor->ne[1] >= rows &&
           tensor->ne[3] == 1;
  };
  if (!fits(inputs.queries, shape.q_heads, count_) || !fits(inputs.keys, shape.k_heads, first_ + count_)) {
    throw Error(ErrorKind::input,
                fmt::format("layer {} compares vectors of another shape than in the check before", layer));
  }
  seen_.push_back(layer);
  const auto begin = std::ranges::lower_bound(wanted.q_tokens, first_);
  const auto end = std::ranges::lower_bound(wanted.q_tokens, first_ + count_);
  std::vector<int> rows(begin, end);
  for (int& row : rows) row -= first_;
  std::vector<std::vector<float>>& batches = queries_[layer];
  reader_.read(inputs.queries, wanted.q_heads, rows, batches.emplace_back());
  if (!is_last_) return;
  TakenRows taken;
  taken.width = shape.width;
  taken.queries = joined(std::move(batches), wanted.q_heads.size());
  queries_.erase(layer);
  // In a cache that was empty the cell of a token is its number.
  reader_.read(inputs.keys, wanted.k_heads, wanted.k_tokens, taken.keys);
  to_halves(taken.queries, shape, scratch_);
  to_halves(taken.keys, shape, scratch_);
  deliver_(layer, taken);
}

void AttentionTap::check() const {
  if (failure_) std::rethrow_exception(failure_);
  for (const auto& [layer, rows] : wanted_) {
    if (std::ranges::count(seen_, layer) == 1) continue;
    throw Error(ErrorKind::input, fmt::format("layer {} was met {} times in one pass; it was once in the check before",
                                              layer, std::ranges::count(seen_, layer)));
  }
}

}  // namespace attention_plasticity
