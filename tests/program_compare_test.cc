// The subcommand `compare`.

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attention_plasticity/results/csv.h"
#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class ProgramCompare : public ProgramTest {
 protected:
  /// Results of the suite's dump in the folder `name`.
  fs::path results(const std::string& name, const std::vector<std::string>& flags = {}) const {
    const fs::path out = here_ / name;
    std::vector<std::string> words{"--output_dir", out.string(), "--quiet"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = run(analyze_words(dump(), words));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return out;
  }
  Outcome compare(std::vector<std::string> words) const {
    words.insert(words.begin(), "compare");
    return run(words);
  }
};

TEST_F(ProgramCompare, OfARunWithItselfIsZero) {
  const std::string out = results("a").string();
  const fs::path diff = here_ / "diff";
  const Outcome outcome = compare({out, out, "--output", diff.string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const CsvTable table = read_csv(diff / "head_differences.csv");
  ASSERT_EQ(table.rows.size(), 2U * 8U);
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    EXPECT_EQ(table.number(row, table.find("difference").value_or(0)), 0);
    EXPECT_TRUE(std::isnan(table.number(row, table.find("q").value_or(0))));
  }
  EXPECT_EQ(names_in(diff), (std::vector<std::string>{"change_map.png", "changes.png", "comparison.json", "curves.png",
                                                      "distances.png", "head_differences.csv", "report.html"}));
}

TEST_F(ProgramCompare, WarnsOfOtherSettingsAndWritesNothingByItself) {
  const std::string a = results("a").string();
  const std::string b = results("b", {"--seed", "1"}).string();
  const std::vector<std::string> before = names_in(here_.path());
  const Outcome outcome = compare({a, b});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "warning: the runs were made with different settings: --seed is 0 and 1\n");
  EXPECT_NE(outcome.out.find("8 heads in both. Both runs measured the same"), std::string::npos) << outcome.out;
  EXPECT_EQ(names_in(here_.path()), before);
  EXPECT_EQ(compare({a, b, "--quiet"}).out, "");
}

TEST_F(ProgramCompare, FollowsASeries) {
  std::vector<std::string> words;
  for (const char* seed : {"30", "4", "100"}) {
    words.push_back(results(std::string("seed-") + seed, {"--seed", seed}).string());
  }
  const fs::path out = here_ / "series";
  words.insert(words.end(), {"--series", "--output", out.string()});
  const Outcome outcome = compare(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json summary = Json::parse(std::ifstream(out / "series.json"));
  EXPECT_EQ(summary["x"], "seed");
  ASSERT_EQ(summary["runs"].size(), 3U);
  EXPECT_EQ(summary["runs"][0]["x"], 4.0);
  EXPECT_EQ(summary["runs"][2]["x"], 100.0);
  EXPECT_EQ(read_csv(out / "head_series.csv").rows.size(), 2U * 8U * 3U);
  EXPECT_TRUE(fs::exists(out / "series.png"));
  EXPECT_TRUE(fs::exists(out / "report.html"));
}

TEST_F(ProgramCompare, FigureThatCannotBeDrawnIsLeftOut) {
  const fs::path a = results("a");
  const fs::path b = here_ / "b";
  fs::copy(a, b);
  Json description = Json::parse(std::ifstream(b / "run.json"));
  description["sampling"]["bucket_size"] = 256;
  std::ofstream(b / "run.json") << description.dump();
  const fs::path diff = here_ / "diff";
  const Outcome outcome = compare({a.string(), b.string(), "--output", diff.string(), "--quiet"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("curves.png is not drawn: " + (b / "head_time_plasticity.csv").string() +
                             ": cannot be drawn against"),
            std::string::npos)
      << outcome.err;
  EXPECT_FALSE(fs::exists(diff / "curves.png"));
  EXPECT_TRUE(fs::exists(diff / "distances.png"));
}

TEST_F(ProgramCompare, ModelsOfOtherShapesAreRefused) {
  const fs::path source = source_folder();
  const Outcome outcome = compare({(source / "results/smollm2-135m").string(), results("a").string()});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("since heads are matched by layer and number: "), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST_F(ProgramCompare, WrongUseIsToldWithWhatToType) {
  const std::string a = results("a").string();
  EXPECT_EQ(compare({}).err,
            "attention-plasticity: compare takes the folders of two runs: attention-plasticity compare out/base "
            "out/tuned\n");
  EXPECT_EQ(compare({a, a, a}).err,
            "attention-plasticity: compare takes two runs, and 3 are given; with --series it follows heads through all "
            "of them\n");
  EXPECT_EQ(compare({a, a, "--threshold", "0.3"}).err,
            "attention-plasticity: --threshold: does not apply to a comparison of two runs; it is for series\n");
  EXPECT_EQ(compare({a, a, "--series"}).code, 0);
  EXPECT_EQ(compare({a, (here_ / "nothing").string()}).code, 3);
}

}  // namespace
}  // namespace attention_plasticity
