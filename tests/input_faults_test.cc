// Runs of which one input call fails, at every call in turn: they end with an error, never by a signal, and a reader
// sees old or new results, never a mix.

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>
#include <set>

#include "attention_plasticity/results/result_files.h"
#include "fault_runs.h"
#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// Without the tables of a run that ended early.
Digests whole_tables_in(const fs::path& folder) {
  Digests digests = tables_in(folder);
  std::erase_if(digests, [](const auto& table) { return table.first.find(".partial") != std::string::npos; });
  return digests;
}

/// Two configurations of a run over one dump of 10 heads, whose tables differ.
class InputFaults : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = std::make_unique<TemporaryFolder>();
    SynthOptions options = ten_heads(2);
    options.rope_theta = 10000;
    write_synthetic_dump(*shared_ / "dump", options);
  }
  static void TearDownTestSuite() { shared_.reset(); }

  void SetUp() override {
    for (std::size_t run = 0; run < 2; ++run) {
      ASSERT_EQ(start(run, {}).code, 0);
      tables_[run] = whole_tables_in(out());
    }
    ASSERT_NE(tables_[0], tables_[1]);
    before_ = 1;
  }

  fs::path out() const { return here_ / "out"; }
  fs::path log() const { return here_ / "log"; }

  Outcome start(std::size_t run, std::vector<std::string> environment) const {
    fs::remove(log());
    Surroundings surroundings;
    surroundings.folder = here_.path();
    environment.emplace_back("LD_PRELOAD=" + input_faults_library());
    environment.emplace_back("AP_INPUT_FOLDER=" + fs::canonical(*shared_ / "dump").string());
    surroundings.environment = std::move(environment);
    return run_program(
        analyze_words(fs::canonical(*shared_ / "dump"), {"--quiet", "--max_workers", "2", "--output_dir",
                                                         out().string(), "--seed", fmt::format("{}", run)}),
        surroundings);
  }

  /// Judges how a run ended that had a fault at `place`.
  void judge(const Outcome& outcome, const std::string& place) {
    const std::size_t wanted = 1 - before_;
    const std::string where =
        fmt::format("{}: code {}, signal {}\n{}", place, outcome.code, outcome.signal, outcome.err);
    ASSERT_EQ(outcome.signal, 0) << where;
    ASSERT_EQ(tables_of_run_json(out()), whole_tables_in(out())) << "a mix; " << where;
    EXPECT_TRUE(ResultFiles(out()).left_out().empty()) << where;
    const Digests shown = whole_tables_in(out());
    codes_.insert(outcome.code);
    if (outcome.code == 0) {
      ASSERT_EQ(shown, tables_[wanted]) << where;
      before_ = wanted;
    } else if (outcome.code == 1) {
      // Some heads failed: the tables are those of the others.
      EXPECT_NE(shown, tables_[before_]) << where;
      EXPECT_NE(outcome.err.find("failed"), std::string::npos) << where;
      ASSERT_EQ(start(wanted, {}).code, 0) << where;
      ASSERT_EQ(whole_tables_in(out()), tables_[wanted]) << where;
      before_ = wanted;
    } else {
      EXPECT_TRUE(outcome.code == 2 || outcome.code == 3 || outcome.code == 6) << where;
      EXPECT_NE(outcome.err.find("attention-plasticity: "), std::string::npos) << where;
      ASSERT_TRUE(shown == tables_[before_] || shown == tables_[wanted]) << where;
      if (shown == tables_[wanted]) before_ = wanted;
    }
  }

  /// Lets every input call fail in turn.
  void fail_at_every_input(bool is_short) {
    const std::vector<std::string> setting{fmt::format("AP_INPUT_SHORT={}", is_short ? 1 : 0),
                                           "AP_INPUT_LOG=" + log().string()};
    ASSERT_EQ(start(1 - before_, setting).code, 0);
    before_ = 1 - before_;
    const std::size_t calls = lines_of(read_bytes(log())).size();
    ASSERT_GT(calls, 40U) << "input calls are not counted";
    for (std::size_t at = 1; at <= calls && !HasFatalFailure(); ++at) {
      std::vector<std::string> environment = setting;
      environment.push_back(fmt::format("AP_INPUT_AT={}", at));
      const Outcome outcome = start(1 - before_, environment);
      const std::vector<std::string> names = lines_of(read_bytes(log()));
      if (names.size() < at) continue;
      judge(outcome, fmt::format("input call {} of {}: {}", at, calls, names[at - 1]));
    }
  }

  static inline std::unique_ptr<TemporaryFolder> shared_;
  const TemporaryFolder here_;
  std::array<Digests, 2> tables_;
  std::size_t before_ = 1;
  std::set<int> codes_;
};

TEST_F(InputFaults, AtEveryCallEndInAnErrorOrCostAHead) {
  fail_at_every_input(false);
  EXPECT_TRUE(codes_.contains(1)) << "a file of a head costs the heads that read it";
}

TEST_F(InputFaults, ShortReadsAreReadOn) {
  fail_at_every_input(true);
  EXPECT_EQ(codes_, std::set<int>{0});
}

}  // namespace
}  // namespace attention_plasticity
