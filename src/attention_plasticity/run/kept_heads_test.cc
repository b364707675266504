#include "attention_plasticity/run/kept_heads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "attention_plasticity/error.h"
#include "attention_plasticity/run/complete_results.h"
#include "attention_plasticity/run/result_tables.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// Runs over a dump that keep their heads. `stop_after`: the number of heads after which a run is stopped.
class KeptRun : public testing::Test {
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
    const PreparedRun prepared = prepare_run(config);
    KeptHeads kept({kept_heads_folder(config), resume}, prepared, config, observer);
    return run_analysis(prepared, config, {.workers = 1, .stop = stop.get_token(), .kept = &kept}, observer);
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
    for (const auto& entry : fs::directory_iterator(kept_heads_folder(dump_.config()))) found.push_back(entry.path());
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

TEST_F(KeptRun, ResumedRunMeasuresOnlyWhatIsMissing) {
  const RunConfig config = dump_.config();
  const RunResult whole = run(config, false);
  EXPECT_EQ(files().size(), 9U);
  const RunResult stopped = run(config, false, 3);
  EXPECT_TRUE(stopped.interrupted);
  EXPECT_EQ(observed_.notes,
            std::vector<std::string>{"dropped 8 heads that an earlier run kept; `resume` would have used "
                                     "them"});
  EXPECT_EQ(files().size(), 4U);
  const RunResult resumed = run(config, true);
  EXPECT_FALSE(resumed.interrupted);
  EXPECT_EQ(observed_.notes, std::vector<std::string>{"resuming: 3 of 8 heads are kept"});
  ASSERT_EQ(observed_.ended.size(), 5U);
  EXPECT_EQ(observed_.ended.front(), (std::pair<std::size_t, std::size_t>(4, 8)));
  EXPECT_EQ(all_tables(resumed, config), all_tables(whole, config));
  EXPECT_EQ(resumed.model_without_group.overall, whole.model_without_group.overall);
  EXPECT_EQ(resumed.inputs.size(), whole.inputs.size());
}

TEST_F(KeptRun, NothingKeptStartsAfresh) {
  EXPECT_EQ(run(dump_.config(), true).results.size(), 8U);
  EXPECT_TRUE(observed_.notes.empty());
}

TEST_F(KeptRun, DamagedHeadsAreMeasuredAgain) {
  const RunConfig config = dump_.config();
  const RunResult whole = run(config, false, 3);
  std::string bytes = read_text(files()[1]);
  bytes[bytes.size() / 2] ^= 1;
  write_text(files()[1], bytes);
  write_text(files()[0], "");
  run(config, true);
  EXPECT_EQ(observed_.notes, (std::vector<std::string>{"2 of the kept heads are damaged and measured again",
                                                       "resuming: 1 of 8 heads are kept"}));
  EXPECT_EQ(observed_.ended.size(), 7U);
}

TEST_F(KeptRun, WithoutItsRecordNothingIsUsed) {
  run(dump_.config(), false, 2);
  write_text(kept_heads_folder(dump_.config()) / "run.json", "{\"program\": {");
  run(dump_.config(), true);
  ASSERT_EQ(observed_.warnings.size(), 1U);
  EXPECT_NE(observed_.warnings[0].find("it is not known whose 2 heads are kept beside it"), std::string::npos);
  EXPECT_EQ(observed_.ended.size(), 8U);
}

TEST_F(KeptRun, RefusesHeadsOfAnotherConfiguration) {
  run(dump_.config(), false, 2);
  const Refusal refused = resume_refusal(dump_.config({{"--seed", "7"}, {"--method", "full"}}));
  EXPECT_EQ(refused.kind, ErrorKind::usage);
  EXPECT_EQ(
      refused.message,
      "2 heads kept here are of another run: `method` was positional and is full; `seed` was 0 and is 7; run without "
      "`resume` to start afresh");
  EXPECT_EQ(refused.file, kept_heads_folder(dump_.config()).string());
  EXPECT_EQ(files().size(), 3U) << "they stay, so that the right command can use them";
}

TEST_F(KeptRun, DoesNotMindWhatChangesNoFigure) {
  run(dump_.config(), false, 2);
  run(dump_.config({{"--max_workers", "3"}, {"--memory_limit", "1GiB"}, {"--overwrite", "true"}}), true);
  EXPECT_EQ(observed_.ended.size(), 6U);
}

TEST_F(KeptRun, RefusesHeadsWhoseFilesHaveChanged) {
  run(dump_.config(), false, 2);
  touch(dump_.file(Side::query, 0, 1));
  EXPECT_NE(resume_refusal(dump_.config()).message.find("l00h01q/data.parquet was modified since"), std::string::npos);
  dump_.write(Side::query, 0, 1, small_rows(99, {1, 2}));
  EXPECT_NE(resume_refusal(dump_.config()).message.find("the size of l00h01q/data.parquet was"), std::string::npos);
}

TEST_F(KeptRun, DoesNotMindChangesInFilesOfOtherHeads) {
  run(dump_.config(), false, 2);
  dump_.write(Side::query, 1, 3, small_rows(99));
  run(dump_.config(), true);
  EXPECT_EQ(observed_.ended.size(), 6U);
}

TEST_F(KeptRun, FailedHeadsAreTriedAgain) {
  const HeadRows rows = small_rows(42);
  write_text(dump_.file(Side::query, 0, 0), "no parquet");
  EXPECT_EQ(run(dump_.config(), false).failures.size(), 1U);
  dump_.write(Side::query, 0, 0, rows);
  const RunResult mended = run(dump_.config(), true);
  EXPECT_TRUE(mended.failures.empty());
  EXPECT_EQ(mended.results.size(), 8U);
  EXPECT_EQ(observed_.ended.size(), 1U);
}

TEST_F(KeptRun, KeepsTheSecondMeasurementToo) {
  dump_.write(Side::query, 1, 3, small_rows(3, {0, 1, 2, 3, 4, 5, 6, 7}));
  const RunConfig config = dump_.config();
  const RunResult whole = run(config, false);
  ASSERT_EQ(observed_.notes.size(), 1U);
  EXPECT_TRUE(observed_.notes[0].starts_with("7 heads were captured on other examples"));
  // Nothing is measured now, neither once nor twice: without vectors a second time would fail.
  for (const HeadTask& task : prepare_run(config).tasks) {
    const auto time = fs::last_write_time(task.query_file);
    const auto size = fs::file_size(task.query_file);
    write_text(task.query_file, std::string(size, 'x'));
    fs::last_write_time(task.query_file, time);
  }
  const RunResult again = run(config, true);
  EXPECT_EQ(observed_.notes, std::vector<std::string>{"resuming: 8 of 8 heads are kept"});
  EXPECT_EQ(all_tables(again, config), all_tables(whole, config));
  EXPECT_EQ(again.model_without_group.overall, whole.model_without_group.overall);
}

TEST_F(KeptRun, GoesOnWhenHeadsCannotBeKept) {
  write_text(dump_.output() / "occupied", "");
  RunConfig config = dump_.config();
  const PreparedRun prepared = prepare_run(config);
  Observed observed;
  const RunObserver observer = observed.observer();
  KeptHeads kept({dump_.output() / "occupied" / "heads", false}, prepared, config, observer);
  EXPECT_EQ(run_analysis(prepared, config, {.workers = 2, .kept = &kept}, observer).results.size(), 8U);
  ASSERT_EQ(observed.warnings.size(), 1U);
  EXPECT_NE(observed.warnings[0].find("the run goes on, but heads that end from now on are not kept"),
            std::string::npos)
      << observed.warnings[0];
}

TEST_F(KeptRun, CompleteResultsAreKnown) {
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

TEST_F(KeptRun, ResultsWithAChangedTableAreNotComplete) {
  const RunConfig config = dump_.config();
  write_results(prepare_run(config), config, run(config, false), {});
  const fs::path table = config.tables[TableId::metrics];
  write_text(table, read_text(table) + "\n");
  EXPECT_FALSE(are_results_complete(prepare_run(config), config));
}

}  // namespace
}  // namespace attention_plasticity
