#include "attention_plasticity/capture/tensor_view.h"

#include <fmt/format.h>

#include <cstring>

#include "attention_plasticity/base/half_float.h"

namespace attention_plasticity {
namespace {

template <class Element>
void gather(const TensorView& tensor, std::size_t head, std::byte* out) {
  const auto* first = static_cast<const Element*>(tensor.data) + static_cast<std::int64_t>(head) * tensor.stride[0];
  for (std::size_t t = 0; t < tensor.tokens(); ++t) {
    const Element* row = first + static_cast<std::int64_t>(t) * tensor.stride[1];
    if (tensor.stride[2] == 1) {
      std::memcpy(out, row, tensor.width() * sizeof(Element));
      out += tensor.width() * sizeof(Element);
      continue;
    }
    for (std::size_t c = 0; c < tensor.width(); ++c) {
      std::memcpy(out, row + static_cast<std::int64_t>(c) * tensor.stride[2], sizeof(Element));
      out += sizeof(Element);
    }
  }
}

template <class Element, class Test>
bool none_has(std::span<const std::byte> bytes, Test test) {
  bool found = false;
  for (std::size_t i = 0; i + sizeof(Element) <= bytes.size(); i += sizeof(Element)) {
    Element bits{};
    std::memcpy(&bits, bytes.data() + i, sizeof(Element));
    found |= test(bits);
  }
  return !found;
}

template <class Element, class Widen>
void widen_all(std::span<const std::byte> bytes, std::span<float> out, Widen widen) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Element bits{};
    std::memcpy(&bits, bytes.data() + i * sizeof(Element), sizeof(Element));
    out[i] = widen(bits);
  }
}

}  // namespace

std::span<const std::byte> head_vectors(const TensorView& tensor, std::size_t head, std::span<std::byte> scratch) {
  const std::size_t bytes = head_bytes(tensor);
  const bool adjoins = (tensor.width() <= 1 || tensor.stride[2] == 1) &&
                       (tensor.tokens() <= 1 || tensor.stride[1] == static_cast<std::int64_t>(tensor.width()));
  if (bytes == 0) return {};
  if (adjoins) {
    const auto* first =
        static_cast<const std::byte*>(tensor.data) +
        static_cast<std::int64_t>(head) * tensor.stride[0] * static_cast<std::int64_t>(element_bytes(tensor.type));
    return {first, bytes};
  }
  if (tensor.type == ElementType::float32) gather<std::uint32_t>(tensor, head, scratch.data());
  if (tensor.type != ElementType::float32) gather<std::uint16_t>(tensor, head, scratch.data());
  return scratch.first(bytes);
}

void widen_elements(std::span<const std::byte> bytes, ElementType type, std::span<float> out) {
  switch (type) {
    case ElementType::float32:
      if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size_bytes());
      break;
    case ElementType::float16:
      widen_all<std::uint16_t>(bytes, out, float_of_half);
      break;
    case ElementType::bfloat16:
      widen_all<std::uint16_t>(bytes, out, float_of_bfloat16);
      break;
  }
}

// All bits of the exponent are set in NaN and infinity, and in no other number.
bool all_elements_finite(std::span<const std::byte> bytes, ElementType type) {
  switch (type) {
    case ElementType::float32:
      return none_has<std::uint32_t>(bytes, [](std::uint32_t bits) { return (bits & 0x7F800000U) == 0x7F800000U; });
    case ElementType::float16:
      return none_has<std::uint16_t>(bytes, [](std::uint16_t bits) { return (bits & 0x7C00U) == 0x7C00U; });
    case ElementType::bfloat16:
      return none_has<std::uint16_t>(bytes, [](std::uint16_t bits) { return (bits & 0x7F80U) == 0x7F80U; });
  }
  return true;
}

std::string shape_text(const TensorView& tensor) {
  return fmt::format("{} x {} x {}", tensor.shape[0], tensor.shape[1], tensor.shape[2]);
}

}  // namespace attention_plasticity
