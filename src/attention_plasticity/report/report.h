#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// A page carries its data in two script elements that are not run: a JSON head and blocks of numbers (packed_blocks.h).
//
//   schema      what results/schema.h says about the columns that the page may show
//   program     version and commit of the program that wrote the page
//   min_count   the count below which a value is shown as little data
//   runs        one entry for each run, see below; where they make a series, in the order of its axis
//   comparisons the differences of pairs of runs, by compare/ (comparison_data.h)
//   series      the way of means through the runs, likewise; null: none
//
// A run has:
//
//   name      the last folder of its path; the whole path where two runs have the same; "in memory" for those
//   source    the path of the results, as given; null for results in memory
//   run       run.json without the paths of its own files, and with the number and bytes of its input files instead of
//             their list; null without run.json
//   model     name (or null), num_layers, num_q_heads, num_k_heads, and windows: tokens by layer with a sliding window
//   heads     the blocks layer, q_head and k_head
//   metrics   [{name, block}]; labels are the same, with labels_file
//   tables    buckets, components, time, distance and groups, if the run wrote them. Each has cells (their number),
//             keys and columns (blocks by name); a column has all cells of the first head, then those of the next
//
// A block is {kind, offset, count, scale}. Values of heads are doubles, so that a CSV that the page saves has all
// digits of the table that it was made from. Values of cells are shown as colours and have 16 bits.

namespace attention_plasticity {

struct ReportOptions {
  std::vector<std::filesystem::path> results;   ///< of each run, a folder with head_metrics.csv, or that file
  std::optional<std::filesystem::path> labels;  ///< labels of heads; none: head_labels.csv of the folder or dump
  std::size_t min_count = 30;                   ///< pairs, triples or queries below which a value is little data
  double level = 0.05;                          ///< a head moved from one run to another when its q is below this
  double threshold = 0.5;                       ///< value whose crossing is told where the runs make a series
  bool series = false;                          ///< whether two runs make a series as well; more always do
  std::optional<std::string> x = std::nullopt;  ///< what orders the runs (parse_axis); none: the names of their folders
  bool in_memory = false;  ///< whether folders stand for results in memory, so that the page names none
  std::optional<std::string> labels_name = std::nullopt;  ///< what the page calls the labels; none: their path
};

struct Report {
  std::string page;                   ///< HTML in UTF-8
  std::size_t heads = 0;              ///< of all runs together
  std::vector<std::string> notes;     ///< for the user
  std::vector<std::string> warnings;  ///< why runs can not be compared, or only with care
};

/// Whether this build has the page; without it make_report throws Error(usage).
bool has_page();

/// One page that shows everything that runs have written, and their differences. Runs that cannot be compared are shown
/// one by one, with the reason. Throws Error(input) for files that cannot be used, and when no label belongs to a
/// measured head; Error(usage) without results, and for an `x` that does not fit the runs.
Report make_report(const ReportOptions& options);

}  // namespace attention_plasticity
