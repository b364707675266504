#include "attention_plasticity/source/head_memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "attention_plasticity/analysis/head_analysis.h"
#include "attention_plasticity/base/large_vector.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/memory.h"
#include "attention_plasticity/rotation.h"

namespace attention_plasticity {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

HeadRows some_rows(std::size_t count, std::size_t width) {
  HeadRows rows;
  rows.width = width;
  for (std::size_t i = 0; i < count; ++i) {
    rows.bucket.push_back(static_cast<std::int64_t>(i * 16 / count));
    rows.example.push_back(i % 64);
    rows.position.push_back(static_cast<double>(i));
    for (std::size_t c = 0; c < width; ++c) {
      const auto number = static_cast<double>(i * width + c);
      rows.vectors.push_back(static_cast<float>(std::sin(number * number)));
    }
  }
  return rows;
}

/// A field of /proc/self/status, in bytes.
std::uint64_t memory_status(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::uint64_t kibibytes = 0;
  while (status >> word) {
    if (word == name && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

/// The memory that `action` took at most, beyond what there was before.
template <class Action>
std::uint64_t peak_of(const Action& action) {
  release_kept_memory();
  return_freed_memory();
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak is counted from here
  const std::uint64_t before = memory_status("VmRSS:");
  action();
  return memory_status("VmHWM:") - before;
}

struct BoundCase {
  std::size_t rows = 0;
  std::size_t width = 0;
  std::optional<std::size_t> kept;
};

class HeadMemoryBound : public testing::TestWithParam<BoundCase> {};
INSTANTIATE_TEST_SUITE_P(Heads, HeadMemoryBound,
                         testing::Values(BoundCase{60000, 64, std::nullopt}, BoundCase{60000, 64, 5000},
                                         BoundCase{20000, 192, std::nullopt}, BoundCase{200000, 8, 200000}));

TEST_P(HeadMemoryBound, IsAboveThePeakOfAHead) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep memory that was freed";
#endif
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "data.parquet";
  write_head_file(file, some_rows(GetParam().rows, GetParam().width));
  AnalysisOptions options;
  options.max_tokens_per_head = GetParam().kept;
  const std::size_t width = GetParam().width;
  const Rotation rotation{.frequency = std::vector<double>(width / 2, 0.01)};
  const HeadFileSize size = measure_head_file(std::make_shared<DiskFile>(file), Side::query);
  const RowBytes rows = row_bytes(size, options);
  const TaskBytes bound = task_bytes(rows, rows, analysis_bytes(size.rows, size.rows, width, options, true), mib);
  const std::uint64_t peak = peak_of([&] {
    const OrientedKeys keys = orient_keys(KeptRows(read_head_file(file, Side::key).rows), options);
    KeptRows queries(read_head_file(file, Side::query).rows);
    measure_head({}, std::move(queries), keys, options, {&rotation});
  });
  // Code and tables that are loaded on first use.
  EXPECT_LT(peak, bound.with_keys() + 8 * mib);
  EXPECT_LT(bound.with_keys(), 3 * peak) << "of use for admission";
}

TEST(HeadMemory, ASubsampleIsSmallerOnceItIsTaken) {
  AnalysisOptions options;
  options.max_tokens_per_head = 100;
  const HeadFileSize size{.rows = 1000, .width = 64, .row_bytes = 280'000, .read_bytes = 500'000};
  const RowBytes rows = row_bytes(size, options);
  EXPECT_EQ(rows.kept, 100U * 280);
  EXPECT_EQ(rows.read, 280'000U + 1024 * 0 + 16 * 1000 * 64) << "rows and a sample of them";
  options.max_tokens_per_head.reset();
  EXPECT_EQ(row_bytes(size, options).kept, 280'000U + 8'000U) << "with an example for each row";
}

TEST(HeadMemory, NumbersBeyondAllLimitsDoNotWrapAround) {
  const std::size_t huge = std::size_t{1} << 40;
  EXPECT_GT(analysis_bytes(huge, huge, huge, {}, true), std::uint64_t{1} << 60);
}

TEST(HeadMemory, SharesAddUpToTheLimit) {
  for (const std::size_t heads : {2, 3, 12}) {
    const MemoryShares shares(960 * mib, heads);
    EXPECT_EQ(shares.most_of_head, 720 * mib);
    EXPECT_EQ(shares.most_result({10, 20, 30}), 240 * mib / heads);
  }
  // The one head of a run may use all that it does not need otherwise.
  const MemoryShares alone(100 * mib, 1);
  EXPECT_EQ(alone.most_of_head, 100 * mib);
  EXPECT_EQ(alone.most_result({30 * mib, 10 * mib, 20 * mib}), 60 * mib);
  EXPECT_EQ(alone.most_result({300 * mib, 0, 0}), 0U);
  EXPECT_EQ(MemoryShares(mib, 1000).most_result({}), 64U << 10) << "a usual result is kept";
  const MemoryShares with_fetched(960 * mib, 2, 240 * mib);
  EXPECT_EQ(with_fetched.most_of_head, 480 * mib);
  EXPECT_EQ(with_fetched.most_result({400 * mib, 30 * mib, 0}), 50 * mib);
}

}  // namespace
}  // namespace attention_plasticity
