// Which tables belong to a run: what `analyze` replaces, and what `plot`, `report`, `validate` and `plan` take.

#include <nlohmann/json.hpp>

#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class ProgramResults : public ProgramTest {
 protected:
  Outcome analyze_into(const std::string& folder, std::vector<std::string> flags = {}) const {
    flags.insert(flags.end(), {"--quiet", "--output_dir", folder});
    return analyze(flags);
  }
  /// The message of a failure with this exit code, without the program's name.
  std::string complaint(const std::vector<std::string>& words, int code) const {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    const std::string line = last_line(outcome.err);
    return line.substr(std::min(line.size(), std::string("attention-plasticity: ").size()));
  }
  /// A copy of the suite's dump, under another name.
  std::string other_dump() const {
    fs::copy(dump(), here_ / "other", fs::copy_options::recursive);
    return "other";
  }
};

// The distance table of an earlier run, copied back, is no table of the run that followed.
TEST_F(ProgramResults, TableOfAnEarlierRunIsRefusedOrLeftOutByName) {
  ASSERT_EQ(analyze_into("out").code, 0);
  fs::copy(here_ / "out/head_distance_plasticity.csv", here_ / "kept.csv");
  ASSERT_EQ(analyze_into("out", {"--num_triples", "0"}).code, 0);
  EXPECT_FALSE(fs::exists(here_ / "out/head_distance_plasticity.csv")) << "a finished run leaves no earlier table";
  fs::copy(here_ / "kept.csv", here_ / "out/head_distance_plasticity.csv");

  const std::string refused =
      "out/head_distance_plasticity.csv: run.json does not name it as a table of its run; analyse the dump again with "
      "--resume, or "
      "move run.json away to use the table alone";
  EXPECT_EQ(complaint({"plot", "distance", "--distance_csv", "out"}, 3), refused);
  EXPECT_EQ(complaint({"plot", "distance", "--distance_csv", "out/head_distance_plasticity.csv"}, 3), refused);
  const Outcome report = run({"report", "out"});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_EQ(report.err,
            "out/head_distance_plasticity.csv: left out: run.json does not name it as a table of its run\n");
  ASSERT_EQ(run({"plot", "distance", "--distance_csv", "kept.csv", "--output", "d.svg"}).code, 0)
      << "tables without run.json stay usable";
}

// Folders that earlier versions of the program left: a run.json of a run without any result over tables of another
// one, and a run.json that was not yet replaced when its tables were.
TEST_F(ProgramResults, TablesBesideTheRunJsonOfAnotherRunAreRefused) {
  write_bytes(here_ / "labels.csv", "layer,q_head,role\n0,0,1\n0,1,2\n1,0,3\n");
  for (const auto& [folder, why] :
       {std::pair("failed_run_over_good", "run.json does not name it as a table of its run"),
        std::pair("mixed_results", "run.json is of another run: its mean of ap_exact is 0.734425")}) {
    fs::copy(source_folder() / "tests" / "attack" / folder, here_ / folder);
    const std::string name = folder;
    for (const std::vector<std::string>& words : {std::vector<std::string>{"report", name},
                                                  {"plan", name, "--keep", "0.5"},
                                                  {"plot", "heads", name},
                                                  {"plot", "plasticity", name},
                                                  {"validate", "--metrics", name, "--labels", "labels.csv"}}) {
      const std::string line = complaint(words, 3);
      EXPECT_TRUE(line.starts_with(name + "/head_")) << words[0] << ": " << line;
      EXPECT_NE(line.find(why), std::string::npos) << words[0] << ": " << line;
    }
    EXPECT_EQ(names_in(here_ / folder).size(), 3U) << "nothing was written";
  }
}

TEST_F(ProgramResults, ChangedTableIsRefused) {
  ASSERT_EQ(analyze_into("out").code, 0);
  write_bytes(here_ / "labels.csv", "layer,q_head,role\n0,0,1\n0,1,2\n1,0,3\n");
  const std::vector<std::vector<std::string>> uses{
      {"report", "out"},
      {"plan", "out", "--keep", "0.5"},
      {"plan", "--metrics", "out/head_metrics.csv", "--keep", "0.5"},
      {"validate", "--metrics", "out", "--labels", "labels.csv", "--bootstrap", "0"},
      {"plot", "heads", "--metrics", "out"}};
  for (const auto& words : uses) EXPECT_EQ(run(words).code, 0) << words[0] << ": " << run(words).err;
  std::string metrics = read_bytes(here_ / "out/head_metrics.csv");
  metrics[metrics.size() - 2] = metrics[metrics.size() - 2] == '1' ? '2' : '1';
  write_bytes(here_ / "out/head_metrics.csv", metrics);
  for (const auto& words : uses) {
    EXPECT_EQ(complaint(words, 3),
              "out/head_metrics.csv: its SHA-256 is not the one in run.json, so it is of another run or was changed; "
              "analyse the dump again with --resume, or move run.json away to use the table alone");
  }
  fs::remove(here_ / "out/run.json");
  for (const auto& words : uses) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(lines_starting(outcome.err, "out/run.json: there is no such file, so nothing tells").size(), 1U)
        << words[0] << ": " << outcome.err;
  }
}

// What earlier versions of the program wrote.
TEST_F(ProgramResults, RunJsonWithoutDigestsIsHeldAgainstTheTable) {
  ASSERT_EQ(analyze_into("out").code, 0);
  Json json = Json::parse(read_bytes(here_ / "out/run.json"));
  json["schema"] = 1;
  json.erase("tables");
  write_bytes(here_ / "out/run.json", json.dump());
  EXPECT_EQ(run({"plan", "out", "--keep", "0.5"}).code, 0);
  json["summary"]["ap_exact"]["mean"] = json["summary"]["ap_exact"]["mean"].get<double>() + 1e-6;
  write_bytes(here_ / "out/run.json", json.dump());
  EXPECT_TRUE(complaint({"plan", "out", "--keep", "0.5"}, 3)
                  .starts_with("out/head_metrics.csv: run.json is of another run: its mean of ap_exact is "));
  json["heads"]["done"] = 0;
  write_bytes(here_ / "out/run.json", json.dump());
  EXPECT_TRUE(complaint({"report", "out"}, 3)
                  .starts_with("out/head_metrics.csv: run.json is of another run: it states 0 heads, "));
}

TEST_F(ProgramResults, OfAnotherDumpAreReplacedOnlyOnRequest) {
  ASSERT_EQ(analyze_into("out").code, 0);
  ASSERT_EQ(analyze_into("out", {"--seed", "1"}).code, 0) << "the same input is replaced without asking";
  const std::string before = read_bytes(here_ / "out/run.json");
  const std::string other = other_dump();
  const std::vector<std::string> words = analyze_words(other, {"--quiet", "--output_dir", "out"});
  const std::string message = complaint(words, 2);
  EXPECT_TRUE(message.starts_with("out/run.json: these are the results of synthetic from " + dump().string() +
                                  ", and this run is of synthetic from other; pass --overwrite to replace them, or "
                                  "another --output_dir"))
      << message;
  EXPECT_EQ(read_bytes(here_ / "out/run.json"), before);
  EXPECT_EQ(complaint(analyze_words(other, {"--output_dir", "out", "--dry_run"}), 2), message);
  write_bytes(here_ / "run.yaml", "overwrite: true\n");
  EXPECT_EQ(run(analyze_words(other, {"--quiet", "--output_dir", "out", "--config", "run.yaml"})).code, 0);
  EXPECT_EQ(Json::parse(read_bytes(here_ / "out/run.json"))["input"]["root"], "other");
  EXPECT_EQ(run(words).code, 0);
  EXPECT_EQ(analyze_into("out", {"--overwrite"}).code, 0);
}

TEST_F(ProgramResults, StandBesideTheMetricsUnlessTheyAreGivenAPath) {
  ASSERT_EQ(analyze({"--quiet", "--output_csv", "results/lab/head_metrics.csv", "--bucket_csv",
                     "results/lab/head_bucket_plasticity.csv", "--component_csv", "results/lab/components.csv"})
                .code,
            0);
  EXPECT_EQ(names_in(here_.path()), std::vector<std::string>{"results"});
  EXPECT_EQ(names_in(here_ / "results"), std::vector<std::string>{"lab"});
  EXPECT_EQ(names_in(here_ / "results/lab"),
            (std::vector<std::string>{"components.csv", "head_bucket_plasticity.csv", "head_distance_plasticity.csv",
                                      "head_groups.csv", "head_metrics.csv", "head_time_plasticity.csv", "run.json"}));
}

TEST_F(ProgramResults, LabelsOfTheDumpAreFoundAndHeldAgainstTheRun) {
  const std::string other = other_dump();
  const auto write_labels = [&](const std::string& rows) {
    write_bytes(here_ / "other/head_labels.csv", "layer,q_head,role\n" + rows);
  };
  write_labels("0,0,1\n1,3,2\n");
  const std::string counts = "other/head_labels.csv: 2 heads labelled, 8 query heads in the run, 2 in both\n";
  const Outcome first = run(analyze_words(other, {"--output_dir", "out"}));
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first_line(first.err) + "\n", counts);
  EXPECT_EQ(run({"report", "out"}).err, counts);
  EXPECT_NE(read_bytes(here_ / "out/report.html").find("other/head_labels.csv"), std::string::npos);

  write_labels("0,0,1\n9,0,2\n");
  const std::string outside = "1 of its 2 heads lie outside the 2 layers of 4 query heads in ";
  EXPECT_EQ(run({"report", "out"}).err,
            "other/head_labels.csv: ignored: " + outside + "out/head_metrics.csv; are both of the same model?\n");
  EXPECT_EQ(complaint({"report", "out", "--labels", "other/head_labels.csv"}, 3),
            "other/head_labels.csv: " + outside + "out/head_metrics.csv; are both of the same model?");
  EXPECT_EQ(complaint({"validate", "--metrics", "out", "--labels", "other/head_labels.csv"}, 3),
            "other/head_labels.csv: " + outside + "out/head_metrics.csv; are both of the same model?");
  const Outcome found = run(analyze_words(other, {"--output_dir", "out"}));
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(first_line(found.err), "other/head_labels.csv: ignored: " + outside + "other; are both of the same model?");
  EXPECT_EQ(run(analyze_words(other, {"--output_dir", "out", "--quiet"})).err, "");
  EXPECT_EQ(complaint(analyze_words(other, {"--output_dir", "out", "--labels", "other/head_labels.csv"}), 3),
            "other/head_labels.csv: " + outside + "other; are both of the same model?");
}

TEST_F(ProgramResults, QuietRunStillWarns) {
  const std::string other = other_dump();
  write_bytes(here_ / "other/config.json", "{");
  const Outcome outcome = run(analyze_words(other, {"--quiet", "--rope", "none"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(lines_starting(outcome.err, "warning: other/config.json: ").size(), 1U) << outcome.err;
}

}  // namespace
}  // namespace attention_plasticity
