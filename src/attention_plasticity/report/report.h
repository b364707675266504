#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// A page carries its data in two script elements that are not run: a JSON head and blocks of numbers (packed_blocks.h).
//
//   schema    what results/schema.h says of the columns that the page may show
//   program   version and commit that wrote the page
//   source    the results, as given
//   run       run.json, with the number and bytes of its input files in place of their list; null without one
//   model     name (or null), num_layers, num_q_heads, and windows: tokens by sliding layer
//   heads     blocks layer, q_head, k_head
//   metrics   [{name, block}], labels likewise, with labels_file
//   tables    buckets, components, time, distance, as far as they are there: cells (their number), keys and columns
//             (blocks by name); a column has all cells of the first head, then those of the next
//
// A block is {kind, offset, count, scale}. Numbers of heads are doubles, so that the CSV that the page saves has all
// digits of the one that it was made from; cells, which are looked at in colours, have 16 bits.

namespace attention_plasticity {

struct ReportOptions {
  std::filesystem::path results;                ///< a folder with head_metrics.csv, or that file
  std::optional<std::filesystem::path> labels;  ///< what is known of heads; none: head_labels.csv of the folder, if any
};

struct Report {
  std::string page;  ///< HTML in UTF-8
  std::size_t heads = 0;
  std::vector<std::string> notes;  ///< for the user
};

/// One page that shows everything a run has written. Throws Error(input) for files that cannot be used, and for labels
/// of which none belongs to a measured head.
Report make_report(const ReportOptions& options);

}  // namespace attention_plasticity
