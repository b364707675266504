#pragma once

#include <ggml-backend.h>
#include <ggml.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace attention_plasticity {

/// Bytes of a tensor that lie side by side.
struct TensorPiece {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// Copies pieces of tensors from wherever they lie. Those of a GPU go to memory that it writes to directly, all of them
/// at once: waiting for each copy by itself takes longer than the model does.
class TensorCopies {
 public:
  /// The pieces one after the other. The bytes stay until the next call.
  std::span<const char> read(const ggml_tensor* tensor, std::span<const TensorPiece> pieces);

 private:
  struct Device;  // a GPU's own queue of copies, and memory that it writes to
  struct DeviceDeleter {
    void operator()(Device* device) const;
  };

  Device* device_of(const ggml_tensor* tensor);

  std::vector<char> bytes_;
  std::map<ggml_backend_dev_t, std::unique_ptr<Device, DeviceDeleter>> devices_;
};

}  // namespace attention_plasticity
