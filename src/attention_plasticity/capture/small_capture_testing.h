#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "attention_plasticity/capture/captured_model.h"
#include "attention_plasticity/capture/position_sampler.h"
#include "attention_plasticity/capture/tensor_view.h"

namespace attention_plasticity {

/// For tests: a model of 3 layers. The first has full attention, the second a window, the third no attention.
inline CapturedModel small_model() {
  CapturedModel model;
  model.name = "small";
  model.config = R"({"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
 "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "max_position_embeddings": 4096})";
  model.source = "numbers";
  model.layers = {{4, 2, 8, std::nullopt}, {4, 2, 8, 96}, {0, 0, 0, std::nullopt}};
  return model;
}

inline CaptureSettings small_settings() {
  CaptureSettings settings;
  settings.bucket_size = 32;
  settings.rows_per_bucket = 8;
  return settings;
}

/// A number for each component, which bfloat16 holds exactly: a hash of all that names it.
inline float small_value(std::uint64_t document, int layer, Side side, int head, std::int64_t position,
                         std::size_t component) {
  std::uint64_t hash = 0x9E3779B97F4A7C15U;
  for (const std::uint64_t part :
       {document, static_cast<std::uint64_t>(layer), static_cast<std::uint64_t>(side == Side::query ? 1 : 2),
        static_cast<std::uint64_t>(head), static_cast<std::uint64_t>(position), std::uint64_t{component}}) {
    hash = (hash ^ part) * 0xBF58476D1CE4E5B9U;
    hash ^= hash >> 29U;
  }
  return (static_cast<float>(hash % 255) - 127) / 64;
}

/// The vectors of some heads at some positions, as bfloat16.
class SmallTensor {
 public:
  SmallTensor(std::uint64_t document, int layer, Side side, const std::vector<int>& heads,
              const std::vector<std::int64_t>& positions, std::size_t width)
      : shape_{heads.size(), positions.size(), width} {
    for (const int head : heads) {
      for (const std::int64_t position : positions) {
        for (std::size_t c = 0; c < width; ++c) {
          const float value = small_value(document, layer, side, head, position, c);
          std::uint32_t bits = 0;
          std::memcpy(&bits, &value, sizeof bits);
          values_.push_back(static_cast<std::uint16_t>(bits >> 16U));
        }
      }
    }
  }

  TensorView view() const {
    const auto rows = static_cast<std::int64_t>(shape_[1]);
    const auto width = static_cast<std::int64_t>(shape_[2]);
    return {values_.data(), ElementType::bfloat16, shape_, {rows * width, width, 1}};
  }
  std::vector<std::uint16_t>& values() { return values_; }

 private:
  std::array<std::size_t, 3> shape_;
  std::vector<std::uint16_t> values_;
};

/// Hands a document to a DumpWriter or CapturedRows, without its end.
template <class Capture>
void add_layers(Capture& capture, const CaptureSettings& settings, const CapturedModel& model, std::uint64_t document,
                std::size_t length) {
  const std::vector<LayerHeads> chosen = chosen_heads(settings, model);
  capture.begin_document(document, length);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const int layer = static_cast<int>(i);
    if (chosen[i].queries.empty()) continue;
    const auto tensor = [&](Side side) {
      return SmallTensor(document, layer, side, heads_of(chosen[i], side),
                         sampled_positions(settings, length, document, layer, side).positions, model.layers[i].width);
    };
    capture.add(document, layer, tensor(Side::query).view(), tensor(Side::key).view());
  }
}

/// The length of a document: from 100 to 227 tokens.
inline std::size_t small_length(std::uint64_t document) { return 100 + document * 37 % 128; }

template <class Capture>
void add_document(Capture& capture, const CaptureSettings& settings, const CapturedModel& model,
                  std::uint64_t document) {
  add_layers(capture, settings, model, document, small_length(document));
  capture.end_document(document);
}

}  // namespace attention_plasticity
