#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/run_json.h"

namespace attention_plasticity {

/// A head of a layer: a KV head when HeadLabels::of_kv_heads is true, otherwise a query head.
struct LabelledHead {
  int layer = 0;
  int head = 0;

  auto operator<=>(const LabelledHead&) const = default;
};

/// One label: a number for each head.
struct HeadLabel {
  std::string name;
  std::vector<double> values;  ///< by head; NaN where unknown
};

/// Labels of heads from another source, such as how strongly each head copies, looks one token back or retrieves.
struct HeadLabels {
  std::string file;
  bool of_kv_heads = false;         ///< true: a label holds for all query heads that read the KV head
  std::vector<LabelledHead> heads;  ///< ascending, each once
  std::vector<HeadLabel> labels;    ///< at least one
  std::vector<std::string> notes;   ///< what was left out, for the user

  /// The index of a query head in the values of each label; none when the head has no labels.
  std::optional<std::size_t> find(const HeadId& head) const;
};

/// Reads three layouts, told apart by their content:
///
/// * CSV with `layer` and `q_head` (or `head`, which means the same; or `k_head`): every other column of numbers is a
///   label; other columns are left out, with a note. There are at most 1,000 other columns;
/// * a matrix of layers by KV heads, separated by tabs, without a header: one label `score`;
/// * a JSON object {"layer-head": [scores...]} of query heads: one label `score`, the mean of the list.
///
/// Throws Error(input), naming the line or key, for other text and for a head that occurs twice.
HeadLabels parse_head_labels(std::string_view text, const std::string& file);
HeadLabels read_head_labels(const std::filesystem::path& file);

/// How many heads labels and a run have in common.
struct LabelFit {
  std::size_t joined = 0;         ///< query heads of the run that have labels
  std::size_t only_measured = 0;  ///< query heads of the run without labels
  std::size_t only_labelled = 0;  ///< labelled heads (query heads or KV heads) that are not in the run

  /// One line with the counts; empty when the labels are those of the heads of the run, all of them and no others.
  std::string note(const HeadLabels& labels) const;
};

/// Throws Error(input), with the counts, when the labels are of another model: when one of them is of a head that a
/// model of this size does not have, or none is of a head of the run. `run` is what messages call the run; without
/// `model`, its size is not known.
LabelFit fit_labels(const HeadLabels& labels, std::span<const HeadId> heads, const std::optional<RunDescription>& model,
                    const std::string& run);

}  // namespace attention_plasticity
