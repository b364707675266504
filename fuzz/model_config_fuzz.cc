// Any text as a model's config.json. What is taken has frequencies and factors that are finite, in as many components
// as a vector has.

#include <cmath>
#include <optional>

#include "attention_plasticity/rotation.h"
#include "target.h"

namespace ap = attention_plasticity;
using ap::fuzz::require;

namespace {

void look_at(const ap::ModelRotation& model, int layer, std::size_t width, double largest) {
  const ap::LayerRotation rotation = model.layer(layer, width, largest);
  require(rotation.rotation.first + rotation.rotation.dim() <= width);
  for (const double frequency : rotation.rotation.frequency) require(std::isfinite(frequency));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::optional<ap::ModelRotation> model;
  ap::fuzz::succeeds([&] { model = ap::ModelRotation::of_model_config(ap::fuzz::text_of(data, size)); });
  if (!model) return 0;
  for (const int layer : {0, 1, 5, 1000}) {
    for (const std::size_t width : {1U, 2U, 8U, 64U, 576U}) {
      for (const double largest : {0.0, 1e5, 9e15}) {
        ap::fuzz::succeeds([&] { look_at(*model, layer, width, largest); });
      }
    }
  }
  return 0;
}
