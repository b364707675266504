// The memory of a run is that of the heads in flight, however many heads it analyses.

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace attention_plasticity
