#include "attention_plasticity/capture/captured_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

std::vector<LargeVector<float>> widened(const TensorView& tensor) {
  std::vector<LargeVector<float>> heads(tensor.heads());
  std::vector<std::byte> scratch(head_bytes(tensor));
  for (std::size_t head = 0; head < tensor.heads(); ++head) {
    heads[head].resize(tensor.tokens() * tensor.width());
    widen_elements(head_vectors(tensor, head, scratch), tensor.type, heads[head]);
  }
  return heads;
}

}  // namespace

RowsView LayerRows::view(std::size_t index) const {
  const std::size_t floats = rows() * width;
  return {width, bucket, example, position, std::span(vectors).subspan(index * floats, floats), width, window};
}

void CapturedRows::begin_document(std::uint64_t document, std::size_t length) {
  if (ended_.contains(document)) {
    throw Error(ErrorKind::usage, fmt::format("document {} was captured already", document));
  }
  progress_.begin(document, length);
  open_[document] = {};
}

void CapturedRows::add(std::uint64_t document, int layer, const TensorView& queries, const TensorView& keys) {
  progress_.check(document, layer, queries, keys);
  open_[document].layers[layer] = {widened(queries), widened(keys)};
  progress_.added(document, layer);
}

void CapturedRows::end_document(std::uint64_t document) {
  const std::size_t length = progress_.end(document);
  Document whole = std::move(open_[document]);
  open_.erase(document);
  whole.length = length;
  ended_[document] = std::move(whole);
}

std::shared_ptr<const LayerRows> CapturedRows::layer_rows(int layer, Side side) {
  const CapturedLayer& shape = progress_.model().layers[static_cast<std::size_t>(layer)];
  auto rows = std::make_shared<LayerRows>();
  rows->layer = layer;
  rows->heads = heads_of(progress_.heads(layer), side);
  rows->width = shape.width;
  rows->window = shape.window;
  for (const auto& [document, state] : ended_) {
    const SampledPositions sampled = sampled_positions(progress_.settings(), state.length, document, layer, side);
    rows->bucket.insert(rows->bucket.end(), sampled.buckets.begin(), sampled.buckets.end());
    rows->position.insert(rows->position.end(), sampled.positions.begin(), sampled.positions.end());
    rows->example.insert(rows->example.end(), sampled.positions.size(), document);
  }
  require_rows(rows->rows(), layer);
  rows->vectors.resize(rows->heads.size() * rows->rows() * rows->width);
  float* out = rows->vectors.data();
  for (std::size_t head = 0; head < rows->heads.size(); ++head) {
    for (auto& [document, state] : ended_) {
      auto& [queries, keys] = state.layers.at(layer);
      LargeVector<float> vectors = std::exchange((side == Side::query ? queries : keys)[head], {});
      out = std::copy(vectors.begin(), vectors.end(), out);
    }
  }
  return rows;
}

std::vector<std::shared_ptr<const LayerRows>> CapturedRows::take() {
  std::vector<std::size_t> lengths;
  lengths.reserve(ended_.size());
  for (const auto& [document, state] : ended_) lengths.push_back(state.length);
  if (lengths.empty()) throw Error(ErrorKind::input, "no document was captured");
  require_two_buckets(progress_.settings(), lengths);
  std::vector<std::shared_ptr<const LayerRows>> layers;
  for (std::size_t layer = 0; layer < progress_.heads().size(); ++layer) {
    if (progress_.heads()[layer].queries.empty()) continue;
    for (const Side side : {Side::query, Side::key}) layers.push_back(layer_rows(static_cast<int>(layer), side));
  }
  ended_.clear();
  return layers;
}

}  // namespace attention_plasticity
