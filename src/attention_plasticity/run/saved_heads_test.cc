#include "attention_plasticity/outcomes/saved_heads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <span>

#include "attention_plasticity/error.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// Runs over a dump that save their heads. `stop_after`: the number of heads after which a run is stopped.
class SavedHeadsTest : public testing::Test {
 protected:
  static constexpr std::size_t never = 1000;

  RunResult run(const RunConfig& config, bool resume, std::size_t stop_after = never) {
    observed_ = {};
    std::stop_source stop;
    RunObserver observer = observed_.observer();
    const auto told = observer.head_ended;
    std::size_t ended = 0;
    observer.head_ended = [&](const HeadEvent& event) {
      told(event);
      if (++ended >= stop_after) stop.request_stop();
    };
    const PreparedRun prepared = decided(config);
    const RunObserver all = serialized(observer);
    SavedHeads saved({saved_heads_folder(config), resume}, prepared, config, all);
    return run_prepared(prepared, config, {.workers = 1, .stop = stop.get_token(), .saved = &saved}, observer);
  }

  static PreparedRun decided(const RunConfig& config) {
    PreparedRun prepared = prepare_run(config);
    decide(prepared, config, serialized({}), {});
    return prepared;
  }

  Refusal resume_refusal(const RunConfig& config) {
    try {
      run(config, true);
    } catch (const Error& error) {
      return {error.kind(), error.what(), error.file()};
    }
    return {};
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(saved_heads_folder(dump_.config()))) found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
  }

  void touch(const fs::path& file) const {
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::hours(1));
  }

  const SmallDump dump_{2, 4, 2};
  Observed observed_;
};

// The tables of a run, which must be the same bytes however it was measured.
std::string all_tables(const RunResult& run, const RunConfig& config) {
  std::string text;
  for (const ResultTable& table : result_tables()) text += table_text(table.id, run.results, config, run.without_group);
  return text;
}

TEST_F(SavedHeadsTest, ResumedRunMeasuresOnlyWhatIsMissing) {
  const RunConfig config = dump_.config();
  const RunResult whole = run(config, false);
  EXPECT_EQ(files().size(), 9U);
  const RunResult stopped = run(config, false, 3);
  EXPECT_TRUE(stopped.interrupted);
  EXPECT_EQ(observed_.notes,
            std::vector<std::string>{"dropped 8 saved heads of an earlier run; `resume` would have used them"});
  EXPECT_EQ(files().size(), 4U);
  const RunResult resumed = run(config, true);
  EXPECT_FALSE(resumed.interrupted);
  EXPECT_EQ(observed_.notes, std::vector<std::string>{"resuming: 3 of 8 heads are saved"});
  ASSERT_EQ(observed_.ended.size(), 5U);
  EXPECT_EQ(observed_.ended.front(), (std::pair<std::size_t, std::size_t>(4, 8)));
  EXPECT_EQ(all_tables(resumed, config), all_tables(whole, config));
  EXPECT_EQ(resumed.model_without_group.overall, whole.model_without_group.overall);
  EXPECT_EQ(resumed.inputs.size(), whole.inputs.size());
}

TEST_F(SavedHeadsTest, NothingSavedStartsAfresh) {
  EXPECT_EQ(run(dump_.config(), true).results.size(), 8U);
  EXPECT_TRUE(observed_.notes.empty());
}

TEST_F(SavedHeadsTest, DamagedHeadsAreMeasuredAgain) {
  const RunConfig config = dump_.config();
  const RunResult whole = run(config, false, 3);
  std::string bytes = read_text(files()[1]);
  bytes[bytes.size() / 2] ^= 1;
  write_text(files()[1], bytes);
  write_text(files()[0], "");
  run(config, true);
  EXPECT_EQ(observed_.notes, (std::vector<std::string>{"2 saved heads cannot be read and will be measured again",
                                                       "resuming: 1 of 8 heads are saved"}));
  EXPECT_EQ(observed_.ended.size(), 7U);
}

TEST_F(SavedHeadsTest, WithoutItsRecordNothingIsUsed) {
  run(dump_.config(), false, 2);
  write_text(saved_heads_folder(dump_.config()) / "manifest.json", "{\"program\": {");
  run(dump_.config(), true);
  ASSERT_EQ(observed_.warnings.size(), 1U);
  EXPECT_NE(observed_.warnings[0].find("2 saved heads beside it cannot be used and will be measured again"),
            std::string::npos);
  EXPECT_EQ(observed_.ended.size(), 8U);
}

TEST_F(SavedHeadsTest, RefusesHeadsOfAnotherConfiguration) {
  run(dump_.config(), false, 2);
  const Refusal refused = resume_refusal(dump_.config({{"--seed", "7"}, {"--method", "full"}}));
  EXPECT_EQ(refused.kind, ErrorKind::usage);
  EXPECT_EQ(
      refused.message,
      "2 saved heads here are of another run: `method` was positional and is full; `seed` was 0 and is 7; run without "
      "`resume` to start afresh");
  EXPECT_EQ(refused.file, saved_heads_folder(dump_.config()).string());
  EXPECT_EQ(files().size(), 3U) << "they stay, so that the right command can use them";
}

TEST_F(SavedHeadsTest, DoesNotMindWhatChangesNoFigure) {
  run(dump_.config(), false, 2);
  run(dump_.config({{"--max_workers", "3"}, {"--memory_limit", "1GiB"}, {"--overwrite", "true"}}), true);
  EXPECT_EQ(observed_.ended.size(), 6U);
}

TEST_F(SavedHeadsTest, RefusesHeadsWhoseFilesHaveChanged) {
  run(dump_.config(), false, 2);
  touch(dump_.file(Side::query, 0, 1));
  EXPECT_NE(resume_refusal(dump_.config()).message.find("l00h01q/data.parquet was modified since"), std::string::npos);
  dump_.write(Side::query, 0, 1, small_rows(99, {1, 2}));
  EXPECT_NE(resume_refusal(dump_.config()).message.find("the size of l00h01q/data.parquet was"), std::string::npos);
}

TEST_F(SavedHeadsTest, DoesNotMindChangesInFilesOfOtherHeads) {
  run(dump_.config(), false, 2);
  dump_.write(Side::query, 1, 3, small_rows(99));
  run(dump_.config(), true);
  EXPECT_EQ(observed_.ended.size(), 6U);
}

TEST_F(SavedHeadsTest, FailedHeadsAreTriedAgain) {
  const HeadRows rows = small_rows(42);
  write_text(dump_.file(Side::query, 0, 0), "no parquet");
  EXPECT_EQ(run(dump_.config(), false).failures.size(), 1U);
  dump_.write(Side::query, 0, 0, rows);
  const RunResult again = run(dump_.config(), true);
  EXPECT_TRUE(again.failures.empty());
  EXPECT_EQ(again.results.size(), 8U);
  EXPECT_EQ(observed_.ended.size(), 1U);
}

TEST_F(SavedHeadsTest, GoesOnWhenHeadsCannotBeSaved) {
  write_text(dump_.output() / "occupied", "");
  RunConfig config = dump_.config();
  const PreparedRun prepared = decided(config);
  Observed observed;
  const RunObserver observer = serialized(observed.observer());
  SavedHeads saved({dump_.output() / "occupied" / "heads", false}, prepared, config, observer);
  EXPECT_EQ(run_prepared(prepared, config, {.workers = 2, .saved = &saved}, observer).results.size(), 8U);
  EXPECT_TRUE(saved.has_failed());
  ASSERT_EQ(observed.warnings.size(), 1U);
  EXPECT_NE(observed.warnings[0].find("the run goes on, but heads that end from now on are not saved"),
            std::string::npos)
      << observed.warnings[0];
}

// Records of another process with a right digest are checked whole before anything of them is used.
TEST_F(SavedHeadsTest, RefusesRecordsThatDoNotFitTheRun) {
  const PreparedRun prepared = decided(dump_.config());
  const MeasureOptions options{.workers = 1};
  const HeadOutcome good =
      measure_tasks(prepared, dump_.config(), std::span(prepared.tasks).first(1), options, serialized({})).heads.at(0);
  check_outcome(good, prepared);
  const auto refuses = [&](const char* what, const std::function<void(HeadOutcome&)>& change) {
    HeadOutcome changed = good;
    change(changed);
    try {
      check_outcome(changed, prepared);
      ADD_FAILURE() << "it was taken: " << what;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  refuses("a head that it does not have", [](HeadOutcome& head) { head.head.q_head = 9; });
  refuses("without figures", [](HeadOutcome& head) { head.measured.reset(); });
  refuses("without figures", [](HeadOutcome& head) { head.failure = HeadFailure{head.head, "", ""}; });
  refuses("another head", [](HeadOutcome& head) { head.measured->result.head.layer = 1; });
  refuses("other components", [](HeadOutcome& head) { head.measured->result.component_weight.pop_back(); });
  refuses("other components", [](HeadOutcome& head) { head.measured->result.component_r_squared.clear(); });
  refuses("other components", [](HeadOutcome& head) { head.measured->result.width = 1; });
  refuses("position-exact", [](HeadOutcome& head) { head.measured->result.exact = ExactPlasticity{}; });
  refuses("other groups", [](HeadOutcome& head) { head.measured->without_group.groups.back() = 6; });
  refuses("other groups", [](HeadOutcome& head) { head.measured->without_group.groups[1] = 0; });
  refuses("leave-one-out", [](HeadOutcome& head) { head.measured->without_group.overall.pop_back(); });
  refuses("leave-one-out", [](HeadOutcome& head) { head.measured->without_group.exact.push_back(1); });
  refuses("documents", [](HeadOutcome& head) { std::ranges::reverse(head.measured->result.examples); });
  refuses("not read", [](HeadOutcome& head) { head.queries.reset(); });
  refuses("other rotations", [](HeadOutcome& head) { head.keys->evidence = FileEvidence{}; });
}

TEST_F(SavedHeadsTest, CompleteResultsAreKnown) {
  const RunConfig config = dump_.config();
  EXPECT_FALSE(are_results_complete(prepare_run(config), config));
  const RunResult result = run(config, false);
  write_results(prepare_run(config), config, result, {});
  EXPECT_TRUE(are_results_complete(prepare_run(config), config));
  const RunConfig other = dump_.config({{"--seed", "7"}});
  EXPECT_FALSE(are_results_complete(prepare_run(other), other));
  touch(dump_.file(Side::key, 0, 1));
  EXPECT_FALSE(are_results_complete(prepare_run(config), config));
}

TEST_F(SavedHeadsTest, ResultsWithAChangedTableAreNotComplete) {
  const RunConfig config = dump_.config();
  write_results(prepare_run(config), config, run(config, false), {});
  const fs::path table = config.tables[TableId::metrics];
  write_text(table, read_text(table) + "\n");
  EXPECT_FALSE(are_results_complete(prepare_run(config), config));
}

}  // namespace
}  // namespace attention_plasticity
