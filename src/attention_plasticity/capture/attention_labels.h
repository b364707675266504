#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_plasticity/capture/tensor_view.h"

namespace attention_plasticity {

/// A column of head_labels.csv that a capture writes, beside `layer` and `q_head`.
struct LabelColumn {
  std::string_view name;
  std::string_view meaning;
};

/// Means over queries i of a model's attention weights A[i, j]. docs/method.md has the sequences they are taken from.
inline constexpr std::array<LabelColumn, 8> label_columns{{
    {"induction", "Weight on the token after the earlier copy of a repeated sequence"},
    {"duplicate", "Weight on the earlier copy of the token itself, in a repeated sequence"},
    {"previous_token", "Weight on the token before"},
    {"self", "Weight on the token itself"},
    {"first_token", "Weight on the first token"},
    {"entropy", "Entropy of the weights in nats"},
    {"mean_distance", "Distance to the keys in tokens, weighted"},
    {"outside", "Weight at a distance of 64 tokens or more, without the first 4 tokens"},
}};

/// How a layer turns logits into weights.
struct AttentionRule {
  double scale = 1;                   ///< of q·k
  double softcap = 0;                 ///< logits x become softcap * tanh(x / softcap); 0: none
  std::span<const float> sinks;       ///< for each query head a logit that takes weight and has no key; empty: none
  std::optional<std::size_t> window;  ///< keys with i - j below it are seen; none: all before
};

/// What heads attend to, from the full queries and keys of short sequences: labels of a model by its own attention, as
/// `validate` and `report` read them. Sums are in double precision; those of a head are in one order, so that labels do
/// not depend on the number of threads.
class AttentionLabels {
 public:
  static constexpr std::size_t repeated_sequences = 4;
  static constexpr std::size_t repeated_tokens = 192;  ///< of a sequence, which comes twice
  static constexpr std::size_t most_documents = 8;
  static constexpr std::size_t least_documents = 2;  ///< with fewer the columns of documents are empty
  static constexpr std::size_t document_tokens = 768;
  static constexpr std::size_t skipped_queries = 64;  ///< of a document, at its beginning
  static constexpr std::size_t outside_distance = 64;
  static constexpr std::size_t outside_sinks = 4;

  /// Query heads and key heads of each layer; 0 query heads: a layer without attention. Throws Error(usage) when query
  /// heads are no multiple of key heads.
  explicit AttentionLabels(const std::vector<std::pair<int, int>>& layers);

  /// The ids of the repeated sequences: `ordinary_ids` are those of the tokens that are not special, ascending, and
  /// NumPy's `default_rng(0).integers(len(ids), size=(4, 192))` picks among them. `bos` goes before each, if there is
  /// one. Throws Error(input) without ids.
  static std::vector<std::vector<std::int64_t>> sequences(std::span<const std::int64_t> ordinary_ids,
                                                          std::optional<std::int64_t> bos);

  /// Adds the attention of one repeated sequence: all queries and keys, [heads x tokens x components], of 384 tokens,
  /// or 385 with one before. Throws Error(usage) for other shapes, too many sequences, or a rule that does not fit;
  /// Error(input) when a number is not finite.
  void add_repeated(int layer, const TensorView& queries, const TensorView& keys, const AttentionRule& rule);
  /// The same for a document of 768 tokens.
  void add_document(int layer, const TensorView& queries, const TensorView& keys, const AttentionRule& rule);

  /// The layer and number of each head, in the order of the values.
  std::vector<std::pair<int, int>> heads() const;
  /// The values of a column by head; NaN where nothing was added.
  std::vector<double> values(std::size_t column) const;
  /// The text of head_labels.csv.
  std::string csv() const;

 private:
  struct Layer {
    int q_heads = 0;
    int k_heads = 0;
    std::size_t sequences = 0;
    std::size_t documents = 0;
    std::vector<std::array<double, label_columns.size()>> sums;  // over queries, by head
  };

  Layer& checked_layer(int layer, const TensorView& queries, const TensorView& keys, const AttentionRule& rule);

  std::vector<Layer> layers_;
};

}  // namespace attention_plasticity
