#include "attention_plasticity/sweep/sweep_index.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/text_file.h"

namespace attention_plasticity {
namespace {

std::vector<IndexedRun> some_runs() {
  return {{"a", SweepState::done, "a", 8, 1, 0.5, 0.125, 0.25, IndexedRun::unknown, "1 head failed, \"x\""},
          {"b", SweepState::failed, "b", 0, 0, NAN, NAN, NAN, NAN, "there is no dump"},
          {"=c", SweepState::to_do, "=c"}};
}

TEST(SweepIndex, TheTableHasALineForEachRun) {
  EXPECT_EQ(sweep_csv(some_runs()),
            "name,state,folder,heads_done,heads_failed,ap_exact,ap_exact_se,ap_overall,ap_overall_se,message\n"
            "a,done,a,8,1,0.5,0.125,0.25,,\"1 head failed, \"\"x\"\"\"\n"
            "b,failed,b,0,0,,,,,there is no dump\n"
            "'=c,to do,'=c,0,0,,,,,\n");
}

TEST(SweepIndex, WhatIsWrittenIsRead) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_sweep_index(folder.path()));
  write_sweep_index(folder.path(), some_runs());
  EXPECT_EQ(read_text_file(folder / "sweep.csv", 10000), sweep_csv(some_runs()));
  const auto runs = read_sweep_index(folder.path());
  ASSERT_TRUE(runs);
  EXPECT_EQ(sweep_json(*runs), sweep_json(some_runs()));
}

TEST(SweepIndex, OtherFilesAreRefused) {
  const TemporaryFolder folder;
  const auto complaint = [&](const std::string& text) {
    write_file_atomically(folder / "sweep.json", text);
    const std::string told = refusal([&] { read_sweep_index(folder.path()); });
    return told.substr(told.rfind(": ") + 2);
  };
  EXPECT_EQ(complaint("{}"), "is not the index of a sweep");
  EXPECT_EQ(complaint(R"({"schema": 2, "runs": []})"), "is the index of another version of the program");
  EXPECT_EQ(complaint(R"({"schema": 1, "runs": [{"name": "a"}]})"), "is not the index of a sweep");
  for (const char* count : {"1e300", "-1", "0.5", "18446744073709551616"}) {
    std::string text = sweep_json(some_runs());
    const std::string done = "\"done\": 8";
    ASSERT_NE(text.find(done), std::string::npos);
    text.replace(text.find(done), done.size(), std::string("\"done\": ") + count);
    EXPECT_EQ(complaint(text), "is not the index of a sweep") << count;
  }
}

TEST(SweepIndex, CountsOfHeadsInRunJsonAreWholeNumbers) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "run.json", R"({"heads": {"done": 1e300, "failed": []}, "summary": {}})");
  IndexedRun run;
  EXPECT_TRUE(refusal([&] { add_figures(run, folder / "run.json"); }).ends_with("is not the run.json of a run"));
}

}  // namespace
}  // namespace attention_plasticity
