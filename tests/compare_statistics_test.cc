// What the errors of a comparison promise, on synthetic dumps whose truth is known.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "attention_plasticity/analyze_dump.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/compare/comparison.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/synth/synthetic_dump.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

SynthOptions truth(std::uint64_t documents, std::uint64_t seed) {
  SynthOptions options;
  options.layers = 2;
  options.q_heads = 8;
  options.k_heads = 4;
  options.rows = 1000;
  options.dim = 16;
  options.mean = 1;
  options.rope_theta = 10'000;
  options.truth_pairs = 0;
  options.seed = seed;
  options.document_seed = documents;
  return options;
}

ComparedRun measured(const fs::path& dump, const fs::path& out) {
  analyze_dump(DumpFolder{dump.string()}, {}).save(out);
  std::vector<std::string> notes;
  return read_compared_run(out, notes);
}

ComparedRun measured(const SynthOptions& options) {
  const TemporaryFolder folder;
  write_synthetic_dump(folder / "dump", options);
  return measured(folder / "dump", folder / "out");
}

TEST(CompareStatistics, HeadsThatDidNotMoveAreSeldomTakenForMoved) {
  std::map<std::string, std::size_t> heads;
  std::map<std::string, std::size_t> below;
  for (std::uint64_t pair = 0; pair < 40; ++pair) {
    const Comparison comparison = compare(measured(truth(pair, 1000 + pair)), measured(truth(pair, 2000 + pair)));
    EXPECT_TRUE(comparison.paired);
    for (const ColumnComparison& column : comparison.columns) {
      for (const HeadDifference& head : column.heads) {
        ++heads[column.column];
        if (head.p < 0.05) ++below[column.column];
      }
    }
  }
  for (const auto& [column, count] : heads) {
    const double share = static_cast<double>(below[column]) / static_cast<double>(count);
    EXPECT_GE(share, 0.03) << column;
    EXPECT_LE(share, 0.08) << column;
  }
}

TEST(CompareStatistics, HeadsThatMovedAreFound) {
  const TemporaryFolder folder;
  SynthOptions options = truth(5, 1);
  options.layers = 4;
  options.rows = 2000;
  options.dim = 32;
  options.example_effect = 1;
  write_synthetic_dump(folder / "a", options);
  options.seed = 2;
  write_synthetic_dump(folder / "b", options);
  options.mean *= 1.5;
  write_synthetic_dump(folder / "shifted", options);
  const std::set<HeadNumber> moved{{0, 0}, {0, 5}, {1, 3}, {1, 7}, {2, 1}, {2, 2}, {2, 6}, {3, 0}, {3, 4}, {3, 5}};
  for (const HeadNumber& head : moved) {
    const std::string name = head_folder_name(Side::query, head);
    fs::copy(folder / "shifted" / name, folder / "b" / name,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  const Comparison comparison =
      compare(measured(folder / "a", folder / "out-a"), measured(folder / "b", folder / "out-b"));
  for (const ColumnComparison& column : comparison.columns) {
    std::size_t others = 0;
    for (const HeadDifference& head : column.heads) {
      const bool found = has_moved(head, 0.05);
      if (moved.contains({head.head.layer, head.head.q_head})) {
        EXPECT_TRUE(found && head.difference < 0) << column.column << " " << head.head.layer << " " << head.head.q_head;
      } else if (found) {
        ++others;
      }
    }
    EXPECT_LE(others, 1U) << column.column;
  }
}

TEST(CompareStatistics, DocumentsThatBothRunsShareCancel) {
  SynthOptions options = truth(3, 1);
  options.example_effect = 1;
  const ComparedRun a = measured(options);
  options.seed = 2;
  ComparedRun b = measured(options);
  const Comparison paired = compare(a, b);
  ASSERT_TRUE(paired.paired && b.groups);
  b.groups->sha256 = "of other documents";
  const Comparison unpaired = compare(a, b);
  ASSERT_FALSE(unpaired.paired);
  for (std::size_t i = 0; i < paired.columns.size(); ++i) {
    double ratio = 0;
    for (std::size_t head = 0; head < paired.columns[i].heads.size(); ++head) {
      ratio += unpaired.columns[i].heads[head].error / paired.columns[i].heads[head].error;
    }
    EXPECT_GE(ratio / static_cast<double>(paired.columns[i].heads.size()), 2) << paired.columns[i].column;
  }
}

}  // namespace
}  // namespace attention_plasticity
