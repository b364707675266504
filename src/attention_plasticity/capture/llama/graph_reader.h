#pragma once

#include <ggml.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attention_plasticity/capture/llama/rope_parameters.h"
#include "attention_plasticity/capture/llama/tensor_copies.h"

// What can be read from the nodes of a llama.cpp graph, whatever the architecture. Names of nodes differ between
// architectures and versions, and do not tell vectors before their rotation from those after it. Three things are the
// same everywhere: the inputs of the node that compares queries with keys are those vectors; the names of nodes that
// have one end in the number of their layer; and above the vectors stands the node that rotated them.

namespace attention_plasticity {

/// The inputs of a node that compares queries with keys: [components, tokens, heads] each.
struct AttentionInputs {
  const ggml_tensor* queries = nullptr;
  const ggml_tensor* keys = nullptr;
};

/// None: the node does not compare queries with keys.
std::optional<AttentionInputs> attention_inputs(const ggml_tensor* node);

/// The layer in the name of a node, such as "Qcur-12" or "Qcur-12 (view)"; none: it names none.
std::optional<int> layer_in_name(std::string_view name);

/// The tensor that a view looks at, and the views that it looks through.
const ggml_tensor* viewed(const ggml_tensor* tensor);

/// The node that rotated a tensor, and where its components stand in the tensor's rows.
struct RotatingNode {
  const ggml_tensor* node = nullptr;  ///< null: none was found
  int first = 0;                      ///< where its first component stands in the row
  bool weights_after = false;         ///< weights act on components between the rotation and the tensor
};

/// Looks above a tensor, through what keeps components apart: views, copies, norms, scales, weights, and both parts of
/// a row that was put together.
RotatingNode rotating_node(const ggml_tensor* tensor);

/// What the node says; `first` is that of RotatingNode.
RopeParameters rope_parameters(const RotatingNode& rotating);

/// Rows of a tensor [components, rows, heads] as floats.
class RowReader {
 public:
  /// out = [heads x rows x components], for the given heads and rows, ascending both. Vectors that lie side by side are
  /// copied as one: the heads of a row, and rows that adjoin. Throws Error(input) for numbers of a type that cannot be
  /// read.
  void read(const ggml_tensor* tensor, std::span<const int> heads, std::span<const int> rows, std::vector<float>& out);

 private:
  static constexpr std::size_t most_bytes = std::size_t{16} << 20;  // copied at once

  void add_pieces(const ggml_tensor* tensor, int row, std::size_t vector);

  TensorCopies copies_;
  std::vector<TensorPiece> pieces_;
};

/// All numbers of a tensor as floats, in the order of its dimensions.
std::vector<float> all_numbers(const ggml_tensor* tensor);

/// How many keys the first and the last query of a mask [keys, queries] may see.
struct VisibleKeys {
  int first = 0;
  int last = 0;
};
VisibleKeys visible_keys(const ggml_tensor* mask, int queries);

}  // namespace attention_plasticity
