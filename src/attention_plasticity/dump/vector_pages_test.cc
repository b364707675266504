#include "attention_plasticity/dump/vector_pages.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <gtest/gtest.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include <optional>
#include <vector>

#include "attention_plasticity/dump/odd_parquet_testing.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t rows = 3000;
constexpr std::size_t width = 20;

// Lists of floats; the component with index `null` among all components is null.
std::shared_ptr<arrow::Array> lists(std::optional<std::size_t> null) {
  auto components = std::make_shared<arrow::FloatBuilder>();
  arrow::ListBuilder builder(arrow::default_memory_pool(), components);
  for (std::size_t i = 0; i < rows * width; ++i) {
    if (i % width == 0) PARQUET_THROW_NOT_OK(builder.Append());
    PARQUET_THROW_NOT_OK(i == null ? components->AppendNull() : components->Append(static_cast<float>(i)));
  }
  return builder.Finish().ValueOrDie();
}

// For each data page: true if it holds only whole rows of `width` entries.
std::vector<bool> hold_only_rows(const std::shared_ptr<arrow::Array>& vectors, bool page_v2, std::size_t expected) {
  const TemporaryFolder folder;
  OddFormat format;
  format.page_v2 = page_v2;
  format.rows_per_group = rows;
  format.page_bytes = 1 << 15;
  write_parquet(folder / "data.parquet", {{"vector", vectors}}, format);
  const auto reader = parquet::ParquetFileReader::OpenFile((folder / "data.parquet").string());
  VectorPages pages(*reader->metadata()->schema()->Column(0), reader->RowGroup(0)->GetColumnPageReader(0));
  std::vector<bool> held;
  std::size_t begun = 0;
  while (pages.NextPage()) {
    if (pages.count() == held.size()) continue;  // a dictionary
    held.push_back(pages.hold_only_rows(expected, begun));
    begun = (begun + pages.entries()) % expected;
  }
  return held;
}

class VectorPagesOfVersion : public testing::TestWithParam<bool> {};

TEST_P(VectorPagesOfVersion, KnowRowsByTheirRuns) {
  const std::vector<bool> held = hold_only_rows(lists({}), GetParam(), width);
  EXPECT_GT(held.size(), 2U);
  EXPECT_EQ(held, std::vector<bool>(held.size(), true));
}

TEST_P(VectorPagesOfVersion, KnowOtherRowsByTheirRuns) {
  const std::vector<bool> held = hold_only_rows(lists({}), GetParam(), width - 1);
  EXPECT_EQ(held, std::vector<bool>(held.size(), false));
}

TEST_P(VectorPagesOfVersion, KnowTheOnePageWithANull) {
  const std::vector<bool> held = hold_only_rows(lists(rows * width - 3), GetParam(), width);
  std::vector<bool> expected(held.size(), true);
  expected.back() = false;
  EXPECT_EQ(held, expected);
}

INSTANTIATE_TEST_SUITE_P(Versions, VectorPagesOfVersion, testing::Bool());

}  // namespace
}  // namespace attention_plasticity
