#include "attention_plasticity/results/result_files.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/results/output_files.h"

namespace attention_plasticity {
namespace {

void write(const std::filesystem::path& file, const std::string& text = "x\n") { std::ofstream(file) << text; }

TEST(ResultFiles, UsualNamesAreFoundWithoutRunJson) {
  const TemporaryFolder folder;
  write(folder / "head_metrics.csv");
  write(folder / "head_time_plasticity.csv");
  const ResultFiles files(folder.path());
  EXPECT_EQ(files.find(TableId::metrics), folder / "head_metrics.csv");
  EXPECT_EQ(files.find(TableId::time), folder / "head_time_plasticity.csv");
  EXPECT_FALSE(files.run());
  ASSERT_EQ(files.notes().size(), 1U);
  EXPECT_EQ(files.notes()[0],
            (folder / "run.json").string() +
                ": there is no such file, so nothing tells whether the tables beside it are of one run");
  EXPECT_FALSE(files.find(TableId::buckets));
  EXPECT_FALSE(files.labels());
  EXPECT_EQ(ResultFiles(folder / "head_metrics.csv").find(TableId::time), files.find(TableId::time));
}

// A run.json of schema 2 that names these files of a folder with the digests that they have now.
void write_run(const std::filesystem::path& folder, const std::vector<std::string>& tables,
               const std::string& config = "{}", const std::string& name = "run.json") {
  std::string listed;
  for (const std::string& table : tables) {
    listed += (listed.empty() ? "" : ", ") + (R"({"file": "out/)" + table + R"(", "sha256": ")") +
              file_sha256(folder / table) + "\"}";
  }
  write(folder / name, R"({"schema": 2, "config": )" + config + R"(, "tables": [)" + listed + "]}");
}

TEST(ResultFiles, NamesOfTheRunComeFirst) {
  const TemporaryFolder folder;
  for (const char* name : {"m.csv", "head_metrics.csv", "b.csv", "head_bucket_plasticity.csv"}) write(folder / name);
  write_run(folder.path(), {"m.csv", "b.csv"},
            R"({"output_csv": "m.csv", "bucket_csv": "/elsewhere/b.csv", "time_csv": null})");
  const ResultFiles files(folder.path());
  EXPECT_EQ(files.find(TableId::metrics), folder / "m.csv");
  EXPECT_EQ(files.find(TableId::buckets), folder / "b.csv");
  EXPECT_EQ(files.run(), folder / "run.json");
  EXPECT_TRUE(files.notes().empty());
  EXPECT_TRUE(files.left_out().empty());
}

TEST(ResultFiles, TableOfAnotherRunIsLeftOut) {
  const TemporaryFolder folder;
  for (const char* name : {"head_metrics.csv", "head_distance_plasticity.csv", "head_time_plasticity.csv"}) {
    write(folder / name);
  }
  write_run(folder.path(), {"head_metrics.csv", "head_time_plasticity.csv"});
  write(folder / "head_time_plasticity.csv", "y\n");
  const ResultFiles files(folder.path());
  EXPECT_EQ(files.find(TableId::metrics), folder / "head_metrics.csv");
  EXPECT_FALSE(files.find(TableId::time));
  EXPECT_FALSE(files.find(TableId::distance));
  EXPECT_EQ(files.left_out(),
            (std::vector<std::string>{
                (folder / "head_time_plasticity.csv").string() +
                    ": left out: its SHA-256 is not the one in run.json, so it is of another run or was changed",
                (folder / "head_distance_plasticity.csv").string() +
                    ": left out: run.json does not name it as a table of its run"}));
}

TEST(ResultFiles, GiveTheBytesThatWereChecked) {
  const TemporaryFolder folder;
  write(folder / "head_metrics.csv", "x\n1\n");
  write_run(folder.path(), {"head_metrics.csv"});
  const ResultFiles files(folder.path());
  write(folder / "head_metrics.csv", "x\n2\n");
  EXPECT_EQ(files.read(TableId::metrics).rows, (std::vector<std::vector<std::string>>{{"1"}}));
}

TEST(ResultFiles, ReadOnlyTheTablesThatAreWanted) {
  const TemporaryFolder folder;
  for (const char* name : {"head_metrics.csv", "head_time_plasticity.csv"}) write(folder / name);
  write_run(folder.path(), {"head_metrics.csv"});
  const ResultFiles files(folder.path(), TableId::metrics, {TableId::metrics});
  EXPECT_TRUE(files.find(TableId::metrics));
  EXPECT_FALSE(files.find(TableId::time));
  EXPECT_TRUE(files.left_out().empty());
}

// Each commit changes the number in all tables, and their digests in run.json.
TEST(ResultFiles, AreOfOneRunWhileRunsReplaceThem) {
  const TemporaryFolder folder;
  const auto commit = [&](int number) {
    const std::string text = "x\n" + std::to_string(number) + "\n";
    OutputFiles output;
    std::string listed;
    for (const std::string table : {"head_metrics.csv", "head_time_plasticity.csv", "head_groups.csv"}) {
      const std::string digest = output.stage(folder / table, text);
      listed += (listed.empty() ? "" : ", ") + (R"({"file": ")" + table + R"(", "sha256": ")") + digest + "\"}";
    }
    output.stage(folder / "run.json", R"({"schema": 2, "config": {}, "tables": [)" + listed + "]}");
    output.commit();
  };
  commit(0);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int number = 1; number <= 20; ++number) commit(number);
    done = true;
  });
  std::size_t reads = 0;
  while (!done) {
    const ResultFiles files(folder.path());
    const auto number = files.read(TableId::metrics).rows;
    EXPECT_EQ(files.read(TableId::time).rows, number);
    EXPECT_EQ(files.read(TableId::groups).rows, number);
    EXPECT_TRUE(files.left_out().empty() && files.notes().empty());
    ++reads;
  }
  writer.join();
  EXPECT_GT(reads, 20U);
}

TEST(ResultFiles, SayWhyATableOfAnotherRunIsRefused) {
  const TemporaryFolder folder;
  write(folder / "head_metrics.csv");
  write(folder / "head_distance_plasticity.csv");
  write_run(folder.path(), {"head_metrics.csv"});
  const std::string message =
      "input: " + (folder / "head_distance_plasticity.csv").string() +
      ": run.json does not name it as a table of its run; analyse the dump again with `resume`, or move "
      "run.json away to use the table alone";
  EXPECT_EQ(refusal([&] { ResultFiles(folder.path()).table(TableId::distance); }), message);
  EXPECT_EQ(refusal([&] {
              ResultFiles(folder / "head_distance_plasticity.csv", TableId::distance).table(TableId::distance);
            }),
            message);
}

std::string run_of_schema_1(const std::string& done, const std::string& mean) {
  return R"({"schema": 1, "files": ["o/head_metrics.csv", "o/head_time_plasticity.csv"], "heads": {"done": )" + done +
         R"(}, "summary": {"ap_overall": {"mean": )" + mean + "}}}";
}

TEST(ResultFiles, OfSchemaOneAreHeldAgainstHeadsAndMeans) {
  const TemporaryFolder folder;
  write(folder / "head_metrics.csv", "layer,q_head,k_head,ap_overall\n0,0,0,0.25\n0,1,0,0.75\n0,2,0,\n");
  write(folder / "head_time_plasticity.csv");
  const auto problem = [&](const std::string& run) {
    write(folder / "run.json", run);
    return refusal([&] { ResultFiles(folder.path()).table(TableId::time); });
  };
  const std::string time = "input: " + (folder / "head_time_plasticity.csv").string();
  const std::string advice = "; analyse the dump again with `resume`, or move run.json away to use the table alone";
  write(folder / "run.json", run_of_schema_1("3", "0.5"));
  EXPECT_EQ(ResultFiles(folder.path()).table(TableId::time), folder / "head_time_plasticity.csv");
  EXPECT_EQ(problem(run_of_schema_1("2", "0.5")),
            time + ": run.json is of another run: it states 2 heads, head_metrics.csv has 3" + advice);
  EXPECT_EQ(problem(run_of_schema_1("3", "0.500001")),
            time + ": run.json is of another run: its mean of ap_overall is 0.500001, that of head_metrics.csv is 0.5" +
                advice);
  EXPECT_NE(problem(run_of_schema_1("3", "null")), "");
  std::filesystem::remove(folder / "head_metrics.csv");
  EXPECT_EQ(problem(run_of_schema_1("3", "0.5")),
            time + ": run.json has no digests (schema 1), and without head_metrics.csv it cannot be checked" + advice);
}

TEST(ResultFiles, OfAnInterruptedRunAreOfferedAndTaken) {
  const TemporaryFolder folder;
  write(folder / "m.partial.csv");
  write(folder / "head_time_plasticity.partial.csv");
  write_run(folder.path(), {"m.partial.csv", "head_time_plasticity.partial.csv"}, R"({"output_csv": "m.csv"})",
            "run.partial.json");
  EXPECT_EQ(refusal([&] { ResultFiles(folder.path()).table(TableId::metrics); }),
            "input: " + folder.path().string() +
                ": holds no head_metrics.csv, but an interrupted run left the heads that it had finished: give " +
                (folder / "m.partial.csv").string() + " to use them");
  const ResultFiles files(folder / "m.partial.csv");
  EXPECT_EQ(files.table(TableId::metrics), folder / "m.partial.csv");
  EXPECT_EQ(files.find(TableId::time), folder / "head_time_plasticity.partial.csv");
  EXPECT_EQ(files.run(), folder / "run.partial.json");
  EXPECT_TRUE(files.notes().empty());

  write(folder / "head_metrics.csv");
  write_run(folder.path(), {"head_metrics.csv"});
  const ResultFiles complete(folder.path());
  EXPECT_EQ(complete.table(TableId::metrics), folder / "head_metrics.csv");
  ASSERT_EQ(complete.notes().size(), 1U);
  EXPECT_EQ(complete.notes()[0], (folder / "m.partial.csv").string() +
                                     ": left by a later run that was interrupted; give this file to use it");
}

TEST(ResultFiles, FindLabelsBesideTheTablesAndThenInTheDump) {
  const TemporaryFolder folder;
  const TemporaryFolder dump;
  write(folder / "head_metrics.csv");
  write(folder / "run.json", R"({"schema": 2, "tables": [], "input": {"folder": ")" + dump.path().string() + "\"}}");
  EXPECT_FALSE(ResultFiles(folder.path()).labels());
  write(dump / "head_labels.csv");
  EXPECT_EQ(ResultFiles(folder.path()).labels(), dump / "head_labels.csv");
  write(folder / "head_labels.csv");
  EXPECT_EQ(ResultFiles(folder.path()).labels(), folder / "head_labels.csv");
}

TEST(ResultFiles, WithoutMetricsThereIsNothingToShow) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal([&] { ResultFiles(folder / "none"); }),
            "input: " + (folder / "none").string() + ": there is no such file or folder");
  EXPECT_EQ(refusal([&] { ResultFiles(folder.path()).table(TableId::metrics); }),
            "input: " + folder.path().string() +
                ": holds no head_metrics.csv; results are what `attention-plasticity analyze` writes to its "
                "`output_dir`");
}

}  // namespace
}  // namespace attention_plasticity
