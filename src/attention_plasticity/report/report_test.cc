#include "attention_plasticity/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/compare/comparison.h"
#include "attention_plasticity/report/packed_blocks_testing.h"
#include "attention_plasticity/results/head_tables.h"
#include "places.h"

namespace attention_plasticity {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

void write(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

// The text of a script element of the page.
std::string script_text(const Report& report, const std::string& id) {
  const std::string open = "id=\"" + id + "\">";
  const std::size_t begin = report.page.find(open) + open.size();
  return report.page.substr(begin, report.page.find("</script>", begin) - begin);
}

Json head_of(const Report& report) { return Json::parse(script_text(report, "report-head")); }

Json first_run(const Report& report) { return head_of(report)["runs"][0]; }

// A block of doubles or whole numbers.
std::vector<double> numbers_of(const Report& report, const Json& block) {
  const std::string bytes = unpacked_bytes(script_text(report, "report-blocks"));
  const bool exact = block["kind"] == "f64";
  std::vector<double> numbers;
  for (std::size_t i = 0; i < block["count"]; ++i) {
    const std::size_t at = block["offset"].get<std::size_t>() + i * (exact ? 8 : 4);
    numbers.push_back(exact ? number_at<double>(bytes, at) : number_at<std::int32_t>(bytes, at));
  }
  return numbers;
}

const fs::path sample = source_folder() / "results/smollm2-135m";

TEST(Report, SampleResultsAreAllThere) {
  const Report report = make_report({{sample}, source_folder() / "examples/smollm2-135m/head_labels.csv"});
  EXPECT_EQ(report.heads, 40U);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_TRUE(report.notes[0].ends_with("head_labels.csv: 270 heads labelled, 40 query heads in the run, 40 in both"));
  const Json head = first_run(report);
  EXPECT_EQ(head["model"]["name"], "SmolLM2-135M-Instruct");
  EXPECT_EQ(head["model"]["num_layers"], 30);
  EXPECT_EQ(head["model"]["windows"], Json::object());
  EXPECT_EQ(head["heads"]["layer"]["count"], 40);
  const Json files = Json::parse(std::ifstream(sample / "run.json"))["input"]["files"];
  EXPECT_EQ(head["run"]["input"]["files"]["count"], files.size());
  EXPECT_GT(head["run"]["input"]["files"]["bytes"], 1e6);
  const HeadMetrics metrics = read_head_metrics(ResultFiles(sample));
  ASSERT_EQ(head["metrics"].size(), metrics.measures().size());
  for (const Json& metric : head["metrics"]) {
    EXPECT_EQ(numbers_of(report, metric["block"]), metrics.values(metric["name"].get<std::string>()));
  }
  EXPECT_EQ(numbers_of(report, head["heads"]["layer"])[39], metrics.heads()[39].layer);
  EXPECT_EQ(head["labels"].size(), 7U);
  EXPECT_EQ(head["labels"][0]["name"], "induction");
  for (const char* table : {"buckets", "components", "time", "distance"}) {
    const Json& cells = head["tables"][table];
    for (const auto& column : cells["columns"]) EXPECT_EQ(column["count"], 40 * cells["cells"].get<int>()) << table;
  }
  EXPECT_EQ(head["tables"]["components"]["cells"], 64);
  EXPECT_EQ(head["tables"]["groups"]["cells"], 16);
  EXPECT_FALSE(head["tables"]["groups"]["columns"].contains("ap_overall"));
  for (const char* column : {"plasticity", "n_pairs", "ap_exact", "ap_exact_se", "n_triples"}) {
    EXPECT_TRUE(head["tables"]["time"]["columns"].contains(column)) << column;
  }
  EXPECT_EQ(head["tables"]["buckets"]["cells"], 120);
}

TEST(Report, OfResultsInMemoryNamesNoFolder) {
  ReportOptions options{{sample}, source_folder() / "examples/smollm2-135m/head_labels.csv"};
  options.labels_name = "labels";
  const Json named = first_run(make_report(options));
  EXPECT_EQ(named["name"], "smollm2-135m");
  EXPECT_EQ(named["source"], sample.string());
  EXPECT_TRUE(named["run"]["config"].contains("output_dir"));
  options.in_memory = true;
  const Report report = make_report(options);
  const Json run = first_run(report);
  EXPECT_EQ(run["name"], "in memory");
  EXPECT_EQ(run["source"], nullptr);
  EXPECT_EQ(run["labels_file"], "labels");
  EXPECT_FALSE(run["run"]["config"].contains("output_dir"));
  EXPECT_EQ(run.dump().find("results/smollm2-135m"), std::string::npos);
}

TEST(Report, ResultsOfThePythonToolkitNeedNoRunJson) {
  const Report report = make_report({{source_folder() / "tests/golden/minidoc-qwen3/python-compat"}, {}});
  EXPECT_EQ(report.heads, 60U);
  const Json head = first_run(report);
  EXPECT_TRUE(head["run"].is_null());
  EXPECT_TRUE(head["model"]["name"].is_null());
  EXPECT_EQ(head["model"]["num_q_heads"], 6);
  EXPECT_EQ(head["model"]["num_k_heads"], 2);
  EXPECT_TRUE(head["tables"]["buckets"]["columns"].contains("plasticity"));
  EXPECT_TRUE(head["tables"]["components"]["columns"].contains("weight"));
  EXPECT_FALSE(head["tables"].contains("distance"));
}

TEST(Report, CarriesTheSchemaAndTheLeastCount) {
  const Json head = head_of(make_report({{sample}, {}, 12}));
  EXPECT_EQ(head["min_count"], 12);
  EXPECT_EQ(head_of(make_report({{sample}, {}}))["min_count"], 30);
  const Json& times = head["schema"]["tables"]["time"];
  const auto column = [](const Json& columns, const char* name) {
    for (const Json& one : columns) {
      if (one["name"] == name) return one;
    }
    return Json();
  };
  EXPECT_EQ(column(times, "ap_exact")["counted_by"], "n_triples");
  EXPECT_EQ(column(times, "ap_exact")["is_exact"], true);
  EXPECT_EQ(column(times, "ap_exact")["title"], "Position-exact");
  EXPECT_EQ(column(times, "plasticity")["is_exact"], false);
  EXPECT_EQ(column(times, "ap_exact_se")["error_of"], "ap_exact");
  EXPECT_EQ(column(times, "n_triples")["counts"], "triples");
  EXPECT_EQ(column(head["schema"]["metrics"], "q_R2_pos")["range"], Json::array({0, 1}));
  EXPECT_EQ(column(head["schema"]["metrics"], "logit_fixed")["range"], Json::array({0, nullptr}));
}

TEST(Report, HostileTextsStayTexts) {
  const TemporaryFolder folder;
  const std::string name = "</script><script>alert(1)</script><!-- \u2028";
  const std::string shown = "</script><script>alert(1)</script><!-- \\u2028";  // a break of lines is told by its number
  write(folder / "head_metrics.csv", "layer,q_head,k_head,\"<img src=x onerror=alert(2)>\",bad\xff\n0,0,0,1,2\n");
  write(folder / "labels.csv", "layer,q_head,</script>\n0,0,1\n");
  write(folder / "run.json",
        Json{{"schema", 1},
             {"files", {"head_metrics.csv"}},
             {"model",
              {{"name", name}, {"num_layers", 1}, {"num_q_heads", 1}, {"num_k_heads", 1}, {"layers", Json::array()}}},
             {"heads", {{"done", 1}, {"failed", {{{"layer", 0}, {"q_head", 1}, {"error", name}}}}}}}
            .dump());
  const Report report = make_report({{folder.path()}, folder / "labels.csv"});
  EXPECT_EQ(report.page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(report.page.find("<img"), std::string::npos);
  const Json head = first_run(report);
  EXPECT_EQ(head["model"]["name"], shown);
  EXPECT_EQ(head["run"]["heads"]["failed"][0]["error"], shown);
  EXPECT_EQ(head["metrics"][0]["name"], "<img src=x onerror=alert(2)>");
  EXPECT_EQ(head["metrics"][1]["name"], "bad\ufffd");
  EXPECT_EQ(head["labels"][0]["name"], "</script>");
}

TEST(Report, LabelsOfKvHeadsHoldForTheirQueryHeads) {
  const TemporaryFolder folder;
  write(folder / "head_metrics.csv", "layer,q_head,k_head,x\n0,0,0,1\n0,1,0,1\n0,2,1,1\n");
  write(folder / "labels.csv", "layer,k_head,role\n0,0,0.5\n");
  const Report report = make_report({{folder.path()}, folder / "labels.csv"});
  const std::vector<double> roles = numbers_of(report, first_run(report)["labels"][0]["block"]);
  ASSERT_EQ(roles.size(), 3U);
  EXPECT_EQ(roles[0], 0.5);
  EXPECT_EQ(roles[1], 0.5);
  EXPECT_TRUE(std::isnan(roles[2]));
  write(folder / "labels.csv", "layer,k_head,role\n7,0,0.5\n");
  EXPECT_EQ(refusal([&] { make_report({{folder.path()}, folder / "labels.csv"}); }),
            "input: " + (folder / "labels.csv").string() + ": none of the heads that it labels (1) is in " +
                (folder / "head_metrics.csv").string() + "; are both of the same model?");
}

TEST(Report, SeveralRunsHaveTheDifferencesOfCompare) {
  const TemporaryFolder folder;
  const fs::path other = folder / "other";
  fs::copy(sample, other);
  Json description = Json::parse(std::ifstream(sample / "run.json"));
  description["config"]["seed"] = 5;
  write(other / "run.json", description.dump());
  const Report report = make_report({{sample, other}, {}});
  EXPECT_EQ(report.heads, 80U);
  EXPECT_EQ(report.warnings,
            (std::vector<std::string>{"the runs were made with different settings: `seed` is 0 and 5"}));
  const Json head = head_of(report);
  ASSERT_EQ(head["runs"].size(), 2U);
  EXPECT_EQ(head["runs"][0]["name"], "smollm2-135m");
  EXPECT_EQ(head["runs"][1]["name"], "other");
  EXPECT_TRUE(head["series"].is_null());
  ASSERT_EQ(head["comparisons"].size(), 1U);
  const Json& comparison = head["comparisons"][0];
  EXPECT_TRUE(comparison["problem"].is_null());
  EXPECT_EQ(comparison["paired"], true);
  EXPECT_EQ(comparison["matched"], 40);
  EXPECT_EQ(comparison["caveats"], report.warnings);

  std::vector<std::string> notes;
  const ComparedRun a = read_compared_run(sample, notes);
  const ComparedRun b = read_compared_run(other, notes);
  std::set<std::string> names;
  for (const Json& column : comparison["columns"]) {
    const std::string name = column["name"];
    names.insert(name);
    const ColumnComparison expected = compare(a, b, {{name}, 0.05}).columns.at(0);
    const std::vector<double> differences = numbers_of(report, column["difference"]);
    ASSERT_EQ(differences.size(), expected.heads.size());
    for (std::size_t i = 0; i < differences.size(); ++i) {
      const double difference = expected.heads[i].difference;
      EXPECT_TRUE(differences[i] == difference || std::isnan(difference)) << name;
    }
    EXPECT_EQ(column.contains("q"), expected.has_errors) << name;
  }
  EXPECT_TRUE(names.contains("ap_exact"));
  EXPECT_TRUE(names.contains("q_R2_pos"));
  EXPECT_FALSE(names.contains("ap_exact_se")) << "an error has no difference of its own";
  EXPECT_FALSE(names.contains("n_triples"));
}

TEST(Report, ThreeRunsAreASeriesInTheOrderOfTheirNames) {
  const TemporaryFolder folder;
  for (const char* name : {"step-100", "step-20", "step-3"}) fs::copy(sample, folder / name);
  const std::vector<fs::path> given{folder / "step-100", folder / "step-20", folder / "step-3"};
  const Json head = head_of(make_report({given, {}}));
  EXPECT_EQ(head["runs"][0]["name"], "step-3");
  EXPECT_EQ(head["runs"][2]["name"], "step-100");
  EXPECT_EQ(head["series"]["x"], "step");
  EXPECT_EQ(head["series"]["values"], Json::array({3, 20, 100}));
  const Json& columns = head["series"]["columns"];
  const auto found = std::ranges::find_if(columns, [](const Json& column) { return column["name"] == "ap_exact"; });
  ASSERT_NE(found, columns.end());
  const Json& exact = *found;
  EXPECT_EQ(exact["mean"].size(), 3U);
  EXPECT_EQ(exact["crossings"]["count"], 3 * 40);
  // Each with the first, and each with the one before.
  std::vector<std::pair<int, int>> pairs;
  for (const Json& pair : head["comparisons"]) pairs.emplace_back(pair["a"], pair["b"]);
  EXPECT_EQ(pairs, (std::vector<std::pair<int, int>>{{0, 1}, {0, 2}, {1, 2}}));
  ReportOptions options{given, {}};
  options.x = "tokens=1,2,3";
  EXPECT_EQ(head_of(make_report(options))["runs"][0]["name"], "step-100");
}

TEST(Report, RunsThatCannotBeComparedSayWhy) {
  const fs::path python = source_folder() / "tests/golden/minidoc-qwen3/python-compat";
  const TemporaryFolder folder;
  fs::copy(sample, folder / "small");
  Json run = Json::parse(std::ifstream(sample / "run.json"));
  run["model"]["num_layers"] = 31;
  write(folder / "small/run.json", run.dump());
  const Report report = make_report({{sample, python, folder / "small"}, {}});
  const Json head = head_of(report);
  EXPECT_TRUE(head["series"].is_null());
  const std::string unknown = python.string() + ": holds no run.json, so it is not known what was measured";
  EXPECT_EQ(head["comparisons"][0]["problem"], unknown);
  const std::string shape = head["comparisons"][1]["problem"];
  EXPECT_NE(shape.find("since heads are matched by layer and number: "), std::string::npos) << shape;
  EXPECT_EQ(report.warnings, (std::vector<std::string>{unknown, shape})) << "each once";
  EXPECT_EQ(refusal([&] { make_report({}); }), "usage: a report needs the results of a run");
}

TEST(Report, RunsOfOneNameAreToldApartByTheirPaths) {
  const TemporaryFolder folder;
  for (const char* place : {"a", "b"}) {
    fs::create_directory(folder / place);
    fs::copy(sample, folder / place / "run");
  }
  const Json head = head_of(make_report({{folder / "a/run", folder / "b/run/"}, {}}));
  EXPECT_EQ(head["runs"][0]["name"], (folder / "a/run").string());
  EXPECT_EQ(head["runs"][1]["name"], (folder / "b/run/").string());
}

TEST(Report, SameFilesGiveTheSamePage) {
  EXPECT_EQ(make_report({{sample}, {}}).page, make_report({{sample}, {}}).page);
}

}  // namespace
}  // namespace attention_plasticity
