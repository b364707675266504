#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace attention_plasticity {

/// How a number is stored.
enum class ElementType : std::uint32_t { float32, float16, bfloat16 };

/// Bytes of a number.
inline std::size_t element_bytes(ElementType type) { return type == ElementType::float32 ? 4 : 2; }

/// Vectors of several heads, which others own: [heads x tokens x components].
struct TensorView {
  const void* data = nullptr;
  ElementType type = ElementType::float32;
  std::array<std::size_t, 3> shape{};
  std::array<std::int64_t, 3> stride{};  ///< in numbers, not bytes

  std::size_t heads() const { return shape[0]; }
  std::size_t tokens() const { return shape[1]; }
  std::size_t width() const { return shape[2]; }
};

/// Bytes of the vectors of one head.
inline std::size_t head_bytes(const TensorView& tensor) {
  return tensor.tokens() * tensor.width() * element_bytes(tensor.type);
}

/// The vectors of a head, row after row, in the type in which they are stored. Where they lie so already, they are not
/// copied; otherwise they go into `scratch`.
std::span<const std::byte> head_vectors(const TensorView& tensor, std::size_t head, std::span<std::byte> scratch);

/// out[i] = the i-th number of `bytes`.
void widen_elements(std::span<const std::byte> bytes, ElementType type, std::span<float> out);

/// True if none of the numbers is NaN or infinite.
bool all_elements_finite(std::span<const std::byte> bytes, ElementType type);

/// "3 x 12 x 64", for messages.
std::string shape_text(const TensorView& tensor);

}  // namespace attention_plasticity
