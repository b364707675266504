#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// A page carries its data in two script elements that are not run: a JSON head and blocks of numbers (packed_blocks.h).
//
//   schema    what results/schema.h says about the columns that the page may show
//   program   version and commit of the program that wrote the page
//   source    the path of the results, as given
//   run       run.json, with the number and bytes of its input files instead of their list; null without run.json
//   model     name (or null), num_layers, num_q_heads, num_k_heads, and windows: tokens by layer with a sliding window
//   heads     the blocks layer, q_head and k_head
//   metrics   [{name, block}]; labels are the same, with labels_file
//   tables    buckets, components, time, distance and groups, if the run wrote them. Each has cells (their number),
//   keys
//             and columns (blocks by name); a column has all cells of the first head, then those of the next
//   min_count the count below which a value is shown as little data
//
// A block is {kind, offset, count, scale}. Values of heads are doubles, so that a CSV that the page saves has all
// digits of the table that it was made from. Values of cells are shown as colours and have 16 bits.

namespace attention_plasticity {

struct ReportOptions {
  std::filesystem::path results;                ///< a folder with head_metrics.csv, or that file
  std::optional<std::filesystem::path> labels;  ///< labels of heads; none: head_labels.csv of the folder or dump
  std::size_t min_count = 30;                   ///< pairs, triples or queries below which a value is little data
};

struct Report {
  std::string page;  ///< HTML in UTF-8
  std::size_t heads = 0;
  std::vector<std::string> notes;  ///< for the user
};

/// One page that shows everything a run has written. Throws Error(input) for files that cannot be used, and when no
/// label belongs to a measured head.
Report make_report(const ReportOptions& options);

}  // namespace attention_plasticity
