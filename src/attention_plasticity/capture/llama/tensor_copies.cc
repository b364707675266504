#include "attention_plasticity/capture/llama/tensor_copies.h"

#include <numeric>

namespace attention_plasticity {

struct TensorCopies::Device {
  explicit Device(ggml_backend_dev_t device)
      : queue(ggml_backend_dev_init(device, nullptr)), memory_type(ggml_backend_dev_host_buffer_type(device)) {}
  ~Device() {
    ggml_backend_buffer_free(memory);
    ggml_backend_free(queue);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Null: there is no such memory.
  char* memory_of(std::size_t bytes) {
    if (memory == nullptr || ggml_backend_buffer_get_size(memory) < bytes) {
      ggml_backend_buffer_free(memory);
      memory = ggml_backend_buft_alloc_buffer(memory_type, bytes);
    }
    return memory == nullptr ? nullptr : static_cast<char*>(ggml_backend_buffer_get_base(memory));
  }

  ggml_backend_t queue;
  ggml_backend_buffer_type_t memory_type;
  ggml_backend_buffer_t memory = nullptr;
};

void TensorCopies::DeviceDeleter::operator()(Device* device) const { delete device; }

// Null: the tensor lies in memory, or in a way that its device cannot copy by itself.
TensorCopies::Device* TensorCopies::device_of(const ggml_tensor* tensor) {
  ggml_backend_buffer_t buffer = tensor->view_src != nullptr ? tensor->view_src->buffer : tensor->buffer;
  if (buffer == nullptr || ggml_backend_buffer_is_host(buffer)) return nullptr;
  ggml_backend_buffer_type_t type = ggml_backend_buffer_get_type(buffer);
  ggml_backend_dev_t device = ggml_backend_buft_get_device(type);
  if (device == nullptr || type != ggml_backend_dev_buffer_type(device)) return nullptr;
  std::unique_ptr<Device, DeviceDeleter>& known = devices_[device];
  if (!known) known.reset(new Device(device));
  return known->queue != nullptr && known->memory_type != nullptr ? known.get() : nullptr;
}

std::span<const char> TensorCopies::read(const ggml_tensor* tensor, std::span<const TensorPiece> pieces) {
  const std::size_t all = std::accumulate(pieces.begin(), pieces.end(), std::size_t{0},
                                          [](std::size_t sum, const TensorPiece& piece) { return sum + piece.bytes; });
  Device* const device = device_of(tensor);
  char* const memory = device == nullptr ? nullptr : device->memory_of(all);
  std::size_t at = 0;
  if (memory == nullptr) {
    bytes_.resize(all);
    for (const TensorPiece& piece : pieces) {
      ggml_backend_tensor_get(tensor, bytes_.data() + at, piece.offset, piece.bytes);
      at += piece.bytes;
    }
    return bytes_;
  }
  for (const TensorPiece& piece : pieces) {
    ggml_backend_tensor_get_async(device->queue, tensor, memory + at, piece.offset, piece.bytes);
    at += piece.bytes;
  }
  ggml_backend_synchronize(device->queue);
  return {memory, all};
}

}  // namespace attention_plasticity
