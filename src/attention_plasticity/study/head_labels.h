#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/results/head_metrics.h"

namespace attention_plasticity {

/// A layer and a head of it, a query head or a KV head as HeadLabels says.
struct LabelledHead {
  int layer = 0;
  int head = 0;

  auto operator<=>(const LabelledHead&) const = default;
};

/// A number for each head.
struct HeadLabel {
  std::string name;
  std::vector<double> values;  ///< by head; NaN where unknown
};

/// What is known of heads from elsewhere: how far each copies, looks one token back, retrieves.
struct HeadLabels {
  std::string file;
  bool of_kv_heads = false;         ///< each then holds for all query heads that read the KV head
  std::vector<LabelledHead> heads;  ///< ascending, each once
  std::vector<HeadLabel> labels;    ///< at least one
  std::vector<std::string> notes;   ///< what was left out, for the user

  /// Where the values of a query head stand in each label; none when it has none.
  std::optional<std::size_t> find(const HeadId& head) const;
};

/// Three layouts, told apart by content:
///
/// * CSV with `layer` and `q_head` (or `head`, which means the same; or `k_head`): every other column of numbers is a
///   label; other columns are left out, with a note;
/// * a matrix of layers by KV heads between tabs, without a header: one label `score`;
/// * a JSON object {"layer-head": [scores...]} of query heads: one label `score`, the mean of the list.
///
/// Throws Error(input), naming the line or key, for anything else and for a head that occurs twice.
HeadLabels parse_head_labels(std::string_view text, const std::string& file);
HeadLabels read_head_labels(const std::filesystem::path& file);

}  // namespace attention_plasticity
