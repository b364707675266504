#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/compare/compared_run.h"
#include "attention_plasticity/compare/series.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/report/packed_blocks.h"

// What a page of several runs says about their differences. All numbers come from compare/; the page computes none.

namespace attention_plasticity {

/// A run of a page, as far as it can be compared.
struct PageRun {
  std::optional<ComparedRun> compared;
  std::string problem;  ///< why it cannot be compared with others; empty where it can
};

/// Reads the run for comparisons. A run that cannot be compared has a problem, in one line.
PageRun read_page_run(const std::filesystem::path& results);

/// Two runs of a page, by their places in it.
struct RunPair {
  std::size_t a = 0;
  std::size_t b = 0;

  friend bool operator==(const RunPair&, const RunPair&) = default;
};

/// The pairs of runs whose differences a page has: each run with the first, and each with the one before it.
std::vector<RunPair> pairs_of_page(std::size_t runs);

/// The difference of two runs in all columns that both have, except counts and standard errors: a and b (places of the
/// runs), and `problem` where they cannot be compared; otherwise paired, documents, matched, only_a, only_b, level,
/// caveats, heads and columns. `warnings` gets the problem or the caveats.
Json comparison_data(const std::vector<PageRun>& runs, const RunPair& pair, double level, PackedBlocks& blocks,
                     std::vector<std::string>& warnings);

/// The way of the model's means, and where heads cross the threshold; null where the runs make no series. The heads'
/// own values stand with their runs, and their changes with the comparisons of neighbours. `runs` are used up;
/// the columns of `options` are not looked at, since all columns that every run has are followed.
Json series_data(std::vector<PageRun>&& runs, const SeriesAxis& axis, const SeriesOptions& options,
                 PackedBlocks& blocks);

}  // namespace attention_plasticity
