// The example dumps against figures computed from them with pyarrow.

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/layout.h"
#include "places.h"

namespace attention_plasticity {
namespace {

/// Sums over all files of a side. Those of columns sum value * (row + 1) modulo 2^64, so that the order of rows counts.
struct Totals {
  std::size_t files = 0;
  std::size_t rows = 0;
  std::uint64_t buckets = 0;
  std::uint64_t examples = 0;
  std::uint64_t positions = 0;
  std::uint64_t component_bits = 0;
  std::size_t windows_of_512 = 0;

  bool operator==(const Totals&) const = default;
};

void add(Totals& totals, const HeadRows& rows) {
  ++totals.files;
  totals.rows += rows.size();
  for (std::uint64_t row = 0; row < rows.size(); ++row) {
    totals.buckets += (row + 1) * static_cast<std::uint64_t>(rows.bucket[row]);
    totals.examples += (row + 1) * rows.example[row];
    totals.positions += (row + 1) * static_cast<std::uint64_t>(rows.position[row]);
  }
  for (std::uint64_t i = 0; i < rows.vectors.size(); ++i) {
    totals.component_bits += (i + 1) * std::bit_cast<std::uint32_t>(rows.vectors[i]);
  }
  if (rows.window == 512.0) ++totals.windows_of_512;
}

Totals totals_of(const std::string& dump, Side side) {
  const DumpLayout layout = find_heads(source_folder() / "examples" / dump, "");
  Totals totals;
  for (const HeadNumber head : side == Side::query ? layout.queries : layout.keys) {
    const HeadFile file = read_head_file(layout.file(side, head), side);
    EXPECT_EQ(file.rows.width, 64U);
    EXPECT_EQ(file.dropped_rows, 0U);
    add(totals, file.rows);
    const HeadFooter footer = read_head_footer(layout.file(side, head));
    EXPECT_EQ(footer.rows, file.rows.size());
    EXPECT_EQ(footer.width, file.rows.width);
  }
  return totals;
}

TEST(ExampleDumps, MinidocQwen3HoldsWhatPyarrowReads) {
  EXPECT_EQ(totals_of("minidoc-qwen3", Side::query),
            (Totals{60, 64014, 228658446, 362076048, 62873721108, 3382361840979279872U, 18}));
  // Key files have windows too, but they are not read.
  EXPECT_EQ(totals_of("minidoc-qwen3", Side::key),
            (Totals{20, 21588, 78280826, 123409374, 21509883700, 9071951416480104448U, 0}));
}

TEST(ExampleDumps, Smollm2HoldsWhatPyarrowReads) {
  EXPECT_EQ(totals_of("smollm2-135m", Side::query),
            (Totals{40, 39176, 143511590, 198710203, 19575073619, 1449357537039089664U, 0}));
  EXPECT_EQ(totals_of("smollm2-135m", Side::key),
            (Totals{30, 29420, 108742964, 150134916, 14833981460, 15611246806085402624U, 0}));
}

}  // namespace
}  // namespace attention_plasticity
