// The memory of a run is that of the heads in flight, however many heads it analyses.

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/dump/layout.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

constexpr double head_bytes = 40000.0 * 64 * sizeof(float);  // vectors of one head

class ProgramMemoryTest : public ProgramTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(run({"synth", "large", "--layers", "1", "--q_heads", "12", "--k_heads", "4", "--rows", "40000", "--dim",
                   "64", "--examples", "64", "--bfloat16", "--truth_pairs", "0"})
                  .code,
              0);
  }

  /// The largest resident memory of `analyze` on the large dump.
  double peak_bytes(const std::vector<std::string>& flags) { return peak_bytes_of("large", flags); }

  /// The same on the suite's dump, which has very few rows.
  double peak_bytes_of_program() { return peak_bytes_of(dump(), {}); }

 private:
  double peak_bytes_of(const std::string& dump_folder, const std::vector<std::string>& flags) {
    std::vector<std::string> words{"analyze", "--dataset_local_root", dump_folder, "--output_dir",
                                   "out",     "--overwrite",          "--compat",  "python"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(read_bytes(here_ / "out" / "run.json"))["resources"]["peak_rss_bytes"].get<double>();
  }
};

TEST_F(ProgramMemoryTest, DoesNotGrowWithTheNumberOfHeads) {
  const double three = peak_bytes({"--max_workers", "1", "--q_heads", "0,1,2"});
  const double twelve = peak_bytes({"--max_workers", "1"});
  EXPECT_LT(twelve, three + 0.5 * head_bytes);
}

TEST_F(ProgramMemoryTest, GrowsWithTheWorkersUpToTheLimit) {
  const double alone = peak_bytes({"--max_workers", "1"});
  const double together = peak_bytes({"--max_workers", "4"});
  EXPECT_GT(together, 1.3 * alone);
  EXPECT_LT(together, 4.0 * alone);
  // By the estimate, the limit is enough for one head and its keys.
  const double limited = peak_bytes({"--max_workers", "4", "--memory_limit", "90MB"});
  EXPECT_LT(limited, 0.8 * together);
  EXPECT_LT(limited, 90e6 + peak_bytes_of_program());
}

constexpr double mib = 1 << 20;
constexpr double beside = 128 * mib;  // the most that the program takes beside `memory_limit`

TEST_F(ProgramMemoryTest, StaysWithinTheLimitForAnyNumberOfWorkers) {
  for (const std::string workers : {"1", "2", "8"}) {
    for (const double limit : {60.0, 120.0, 300.0}) {
      const double peak =
          peak_bytes({"--max_workers", workers, "--memory_limit", std::to_string(static_cast<int>(limit)) + "MiB"});
      EXPECT_LT(peak, limit * mib + beside) << workers << " workers, " << limit << " MiB";
    }
  }
}

// Cells grow as the square of the number of buckets. 3,000 buckets of 2 rows take 144 MB for their cells alone.
class ProgramBucketsTest : public ProgramTest {
 protected:
  void SetUp() override {
    for (const Side side : {Side::query, Side::key}) {
      HeadRows rows;
      rows.width = 4;
      for (std::int64_t bucket = 0; bucket < 3000; ++bucket) {
        for (std::uint64_t i = 0; i < 2; ++i) {
          rows.bucket.push_back(bucket);
          rows.example.push_back(static_cast<std::uint64_t>(bucket) % 20);
          rows.position.push_back(static_cast<double>(2 * bucket) + static_cast<double>(i));
          for (int c = 0; c < 4; ++c)
            rows.vectors.push_back(static_cast<float>((bucket * 31 + c * 17 + 7 * static_cast<int>(i)) % 101));
        }
      }
      const std::filesystem::path folder = here_ / "buckets" / (side == Side::query ? "l00h00q" : "l00h00k");
      std::filesystem::create_directories(folder);
      write_head_file(folder / "data.parquet", rows);
    }
  }
};

TEST_F(ProgramBucketsTest, CellsThatDoNotFitAreAnErrorWithTheirNumber) {
  const Outcome outcome = run(analyze_words(here_ / "buckets", {"--memory_limit", "50MiB", "--output_dir", "out"}));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("and --memory_limit is 50.0 MiB: 3000 buckets of queries and 3000 buckets of keys make "
                             "4498500 cells; raise --memory_limit"),
            std::string::npos)
      << outcome.err;
  const auto json = nlohmann::json::parse(read_bytes(here_ / "out" / "run.failed.json"));
  EXPECT_LT(json["resources"]["peak_rss_bytes"].get<double>(), 50 * mib + beside);
}

TEST_F(ProgramBucketsTest, CellsThatFitAreWrittenWithinTheLimit) {
  const Outcome outcome = run(analyze_words(here_ / "buckets", {"--memory_limit", "300MiB", "--output_dir", "out",
                                                                "--quiet", "--num_pairs_per_bucket", "1"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(read_bytes(here_ / "out" / "run.json"));
  EXPECT_LT(json["resources"]["peak_rss_bytes"].get<double>(), 200 * mib) << "the cells, and no text of the table";
}

}  // namespace
}  // namespace attention_plasticity
