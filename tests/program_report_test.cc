// The subcommand `report`.

#include <fstream>
#include <sstream>

#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

const std::string sample = (source_folder() / "results/smollm2-135m").string();
const std::string python = (source_folder() / "tests/golden/minidoc-qwen3/python-compat").string();
const std::string labels = (source_folder() / "examples/smollm2-135m/head_labels.csv").string();

std::string content(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

class ProgramReport : public ProgramTest {
 protected:
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}

  Outcome report(std::vector<std::string> words) const {
    words.insert(words.begin(), "report");
    return run(words);
  }
  /// The message of a failure with this exit code, without the program's name. The failure must leave no files behind.
  std::string complaint(const std::vector<std::string>& words, int code) const {
    const auto before = here_.names();
    const Outcome outcome = report(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(here_.names(), before);
    const std::string line = last_line(outcome.err);
    return line.substr(std::min(line.size(), std::string("attention-plasticity: ").size()));
  }
};

TEST_F(ProgramReport, WritesOnePageAndNamesItWithItsSize) {
  const Outcome outcome = report({sample, "--output", "pages/r.html", "--labels", labels});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, labels + ": 270 heads labelled, 40 query heads in the run, 40 in both\n");
  EXPECT_TRUE(outcome.out.starts_with("pages/r.html: 40 heads, ")) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with(" kB\n")) << outcome.out;
  EXPECT_EQ(here_.names(), (std::set<std::string>{"pages", "pages/r.html"}));
  const std::string page = content(here_ / "pages/r.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_LT(page.size(), 1'000'000U);
  EXPECT_NE(page.find("SmolLM2-135M-Instruct"), std::string::npos);
  EXPECT_EQ(page.find("%REPORT_"), std::string::npos);
}

TEST_F(ProgramReport, TakesTheLeastCountAndCountsOneHead) {
  std::ofstream(here_ / "head_metrics.csv") << "layer,q_head,k_head,ap_exact\n0,0,0,0.5\n";
  const Outcome outcome = report({".", "--min_count", "7"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("./report.html: 1 head, ")) << outcome.out;
  EXPECT_NE(content(here_ / "report.html").find("\"min_count\":7"), std::string::npos);
  EXPECT_EQ(complaint({".", "--min_count", "few"}, 2), "--min_count: few is not an integer in plain decimal");
}

TEST_F(ProgramReport, IsWrittenToTheFolderOfTheResultsByDefault) {
  fs::copy(python, here_ / "results");
  EXPECT_EQ(report({"results"}).code, 0);
  EXPECT_TRUE(fs::exists(here_ / "results/report.html"));
  fs::remove(here_ / "results/report.html");
  EXPECT_EQ(report({"results/head_metrics.csv"}).code, 0);
  EXPECT_TRUE(fs::exists(here_ / "results/report.html"));
}

TEST_F(ProgramReport, RunsThatDoNotFitAreShownWithAWarning) {
  const Outcome outcome = report({sample, python, "--output", "r.html"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(last_line(outcome.err), "warning: " + python + ": holds no run.json, so it is not known what was measured");
  EXPECT_TRUE(outcome.out.starts_with("r.html: 2 runs, 100 heads, ")) << outcome.out;
  EXPECT_NE(content(here_ / "r.html").find("holds no run.json, so it is not known what was measured"),
            std::string::npos);
}

TEST_F(ProgramReport, WrongUseIsTwo) {
  EXPECT_EQ(complaint({}, 2), "report takes folders of results: attention-plasticity report RESULTS");
  EXPECT_EQ(complaint({sample, sample}, 2),
            "the page of several runs belongs to no folder of results; name its file with --output");
  EXPECT_EQ(complaint({sample, sample, "--output", "x.html", "--x", "step=1,2,3"}, 2), "--x has 3 values for 2 runs");
  EXPECT_EQ(complaint({sample, sample, "--output", "x.html", "--x", "step=2,2"}, 2),
            "two runs have the same step, 2: '" + sample + "' and '" + sample + "'");
  EXPECT_NE(complaint({sample, "--outptu", "x.html"}, 2).find("did you mean --output?"), std::string::npos);
  EXPECT_EQ(run({"report", "--help"}).code, 0);
}

TEST_F(ProgramReport, UnusableInputIsThree) {
  EXPECT_EQ(complaint({"none"}, 3), "none: there is no such file or folder");
  fs::create_directory(here_ / "empty");
  EXPECT_TRUE(complaint({"empty"}, 3).starts_with("empty: holds no head_metrics.csv; "));
  EXPECT_EQ(complaint({sample, "--output", "x.html", "--labels", "none.csv"}, 3), "none.csv: there is no such file");
  fs::copy(python, here_ / "broken");
  write_bytes(here_ / "broken/head_bucket_plasticity.csv", "layer,q_head,q_bucket,k_bucket\n");
  EXPECT_EQ(complaint({"broken"}, 3),
            "broken/head_bucket_plasticity.csv: has no column plasticity or ap_bucket; it should be the "
            "head_bucket_plasticity.csv of a run");
  write_bytes(here_ / "broken/run.json", "{");
  EXPECT_TRUE(complaint({"broken"}, 3).starts_with("broken/run.json: line 1: "));
}

TEST_F(ProgramReport, UnwritableOutputIsSix) {
  write_bytes(here_ / "file", "x");
  EXPECT_TRUE(complaint({sample, "--output", "file/r.html"}, 6).starts_with("file"));
  fs::create_directory(here_ / "folder.html");
  EXPECT_TRUE(complaint({sample, "--output", "folder.html"}, 6).starts_with("folder.html"));
  Surroundings full;
  full.out = "/dev/full";
  EXPECT_EQ(run({"report", sample, "--output", "r.html"}, full).code, 6);
}

}  // namespace
}  // namespace attention_plasticity
