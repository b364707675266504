#include "attention_plasticity/capture/capture_progress.h"

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// The files of a dump hold numbers of 32 bits.
constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::usage, message); }

void check_shape(const TensorView& tensor, std::size_t heads, std::size_t rows, std::size_t width,
                 std::string_view what) {
  if (tensor.heads() == heads && tensor.tokens() == rows && tensor.width() == width) return;
  refuse(fmt::format("the {} are {}; they should be {} x {} x {}: heads, sampled positions, components", what,
                     shape_text(tensor), heads, rows, width));
}

void check_finite(const TensorView& tensor, int layer, std::string_view what) {
  std::vector<std::byte> scratch(head_bytes(tensor));
  for (std::size_t head = 0; head < tensor.heads(); ++head) {
    if (all_elements_finite(head_vectors(tensor, head, scratch), tensor.type)) continue;
    throw Error(
        ErrorKind::input,
        fmt::format("layer {}: the {} hold a number that is not finite; float16 may be too narrow for the model: "
                    "load it in bfloat16 or float32, or capture a GGUF file with `exact`",
                    layer, what));
  }
}

}  // namespace

CaptureProgress::CaptureProgress(CaptureSettings settings, CapturedModel model)
    : settings_(std::move(settings)), model_(std::move(model)), heads_(chosen_heads(settings_, model_)) {}

const LayerHeads& CaptureProgress::heads(int layer) const {
  if (layer < 0 || static_cast<std::size_t>(layer) >= heads_.size()) {
    refuse(fmt::format("there is no layer {}: the model has {}, from 0 on", layer, heads_.size()));
  }
  return heads_[static_cast<std::size_t>(layer)];
}

const CaptureProgress::OpenDocument& CaptureProgress::open(std::uint64_t document) const {
  const auto found = open_.find(document);
  if (found == open_.end()) refuse(fmt::format("document {} is not open", document));
  return found->second;
}

void CaptureProgress::begin(std::uint64_t document, std::size_t length) {
  if (document > most || length > most) refuse(fmt::format("documents and positions must be below {}", most + 1));
  if (length == 0) throw Error(ErrorKind::input, fmt::format("document {} is empty", document));
  if (settings_.max_length && length > static_cast<std::size_t>(*settings_.max_length)) {
    refuse(
        fmt::format("document {} has {} tokens, more than `max_length: {}`", document, length, *settings_.max_length));
  }
  if (!open_.try_emplace(document, OpenDocument{length, {}}).second) {
    refuse(fmt::format("document {} is open already", document));
  }
}

LayerPositions CaptureProgress::positions(std::uint64_t document, int layer) const {
  const OpenDocument& state = open(document);
  if (heads(layer).queries.empty()) return {};
  return {sampled_positions(settings_, state.length, document, layer, Side::query),
          sampled_positions(settings_, state.length, document, layer, Side::key)};
}

void CaptureProgress::check(std::uint64_t document, int layer, const TensorView& queries,
                            const TensorView& keys) const {
  const OpenDocument& state = open(document);
  const LayerHeads& chosen = heads(layer);
  if (chosen.queries.empty()) refuse(fmt::format("layer {} is not captured", layer));
  if (state.layers.contains(layer)) refuse(fmt::format("layer {} of document {} was added already", layer, document));
  const LayerPositions sampled = positions(document, layer);
  const std::size_t width = model_.layers[static_cast<std::size_t>(layer)].width;
  const std::string place = fmt::format("of layer {} of document {}", layer, document);
  check_shape(queries, chosen.queries.size(), sampled.queries.positions.size(), width, "queries " + place);
  check_shape(keys, chosen.keys.size(), sampled.keys.positions.size(), width, "keys " + place);
  if (queries.type != keys.type) refuse(fmt::format("the queries and keys {} are not of one type", place));
  check_finite(queries, layer, "queries");
  check_finite(keys, layer, "keys");
}

void CaptureProgress::added(std::uint64_t document, int layer) { open_.at(document).layers.insert(layer); }

std::size_t CaptureProgress::end(std::uint64_t document) {
  const OpenDocument& state = open(document);
  for (std::size_t layer = 0; layer < heads_.size(); ++layer) {
    if (!heads_[layer].queries.empty() && !state.layers.contains(static_cast<int>(layer))) {
      refuse(
          fmt::format("document {} ends without layer {}: the model's attention was not seen there", document, layer));
    }
  }
  const std::size_t length = state.length;
  open_.erase(document);
  return length;
}

}  // namespace attention_plasticity
