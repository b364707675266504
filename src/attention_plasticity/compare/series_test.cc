#include "attention_plasticity/compare/series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/compare/random_run_testing.h"
#include "attention_plasticity/compare/series_text.h"
#include "places.h"

namespace attention_plasticity {
namespace {

using Names = std::vector<std::string>;

TEST(SeriesAxis, IsTheNumberInWhichNamesDiffer) {
  EXPECT_EQ(axis_of_names(Names{"out/step-500", "out/step-1000", "out/step-0"}).values,
            (std::vector<double>{500, 1000, 0}));
  EXPECT_EQ(axis_of_names(Names{"out/step-500", "out/step-1000"}).name, "step");
  EXPECT_EQ(axis_of_names(Names{"500", "1000"}).name, "run");
  EXPECT_EQ(axis_of_names(Names{"qwen3-step7/", "qwen3-step70/"}).values, (std::vector<double>{7, 70}));
  EXPECT_EQ(axis_of_names(Names{"a2-1", "a3-1"}).values, (std::vector<double>{2, 3}));
}

TEST(SeriesAxis, IsTheOrderWhereNamesDoNotSay) {
  EXPECT_EQ(axis_of_names(Names{"base", "tuned"}).values, (std::vector<double>{0, 1}));
  EXPECT_EQ(axis_of_names(Names{"step-5", "final"}).values, (std::vector<double>{0, 1}));
  EXPECT_EQ(axis_of_names(Names{"step-5", "other-5"}).values, (std::vector<double>{0, 1}));
}

TEST(SeriesAxis, IsWhatTheUserSays) {
  const SeriesAxis axis = parse_axis("step=10,2.5,-1", Names{"a", "b", "c"});
  EXPECT_EQ(axis.name, "step");
  EXPECT_EQ(axis.values, (std::vector<double>{10, 2.5, -1}));
  EXPECT_EQ(refusal([] { parse_axis("step=1,2", Names{"a", "b", "c"}); }), "usage: `x` has 2 values for 3 runs");
  EXPECT_EQ(refusal([] { parse_axis("step=1,two", Names{"a", "b"}); }), "usage: `x`: 'two' is not a number");
}

TEST(SeriesAxis, IsReadFromATable) {
  const TemporaryFolder folder;
  const std::string file = (folder / "axis.csv").string();
  std::ofstream(file) << "results,tokens\nout/b,2e9\nout/a/,1e9\n";
  const SeriesAxis axis = parse_axis(file, Names{"out/a/", "out/b"});
  EXPECT_EQ(axis.name, "tokens");
  EXPECT_EQ(axis.values, (std::vector<double>{1e9, 2e9}));
  EXPECT_EQ(refusal([&] { parse_axis(file, Names{"out/c"}); }), "input: " + file + ": has no tokens of 'out/c'");
  std::ofstream(file) << "run,tokens\n";
  EXPECT_EQ(refusal([&] { parse_axis(file, Names{"out/c"}); }),
            "input: " + file + ": should have two columns: results, which names the folders, and a number");
}

TEST(Series, FollowsHeadsInTheOrderOfTheAxis) {
  const std::vector<ComparedRun> runs{random_run(1), random_run(2), random_run(3)};
  const Series series = make_series(runs, {"step", {20, 30, 10}});
  EXPECT_EQ(series.order, (std::vector<std::size_t>{2, 0, 1}));
  EXPECT_EQ(series.axis.values, (std::vector<double>{10, 20, 30}));
  ASSERT_EQ(series.columns.size(), 1U);
  const ColumnSeries& column = series.columns.front();
  const ColumnComparison first = compare(runs[2], runs[0]).columns.front();
  const ColumnComparison second = compare(runs[0], runs[1]).columns.front();
  for (std::size_t i = 0; i < column.heads.size(); ++i) {
    const std::vector<SeriesPoint>& points = column.heads[i].points;
    ASSERT_EQ(points.size(), 3U);
    EXPECT_TRUE(std::isnan(points[0].change.difference));
    EXPECT_EQ(points[0].value, first.heads[i].a);
    EXPECT_EQ(points[0].error, 0.05);
    EXPECT_EQ(points[1].change.difference, first.heads[i].difference);
    EXPECT_EQ(points[1].change.q, first.heads[i].q);
    EXPECT_EQ(points[2].change.error, second.heads[i].error);
  }
  EXPECT_NEAR(column.model[1].value, first.model.b, 1e-15);
  EXPECT_NEAR(column.model[2].change.difference, second.model.difference, 1e-15);
  EXPECT_NEAR(column.model[2].change.error, second.model.error, 1e-15);
}

TEST(Series, TellsWhenAHeadCrossesTheThreshold) {
  const std::vector<ComparedRun> runs{random_run(1), random_run(2), random_run(3)};
  const Series series = make_series(runs, {"step", {1, 2, 3}}, {.columns = {}, .level = 0.05, .threshold = 0.4});
  std::size_t crossed = 0;
  for (const HeadSeries& head : series.columns.front().heads) {
    for (std::size_t run = 1; run < 3; ++run) {
      const bool before = head.points[run - 1].value >= 0.4;
      const bool now = head.points[run].value >= 0.4;
      EXPECT_EQ(head.points[run].crossing, int{now} - int{before});
      if (now != before) ++crossed;
    }
  }
  ASSERT_GT(crossed, 0U) << "the test needs a head that crosses";
  EXPECT_EQ(nlohmann::json::parse(series_json(series, runs))["columns"][0]["crossings"].size(), crossed);
}

TEST(Series, LeavesOutHeadsThatSomeRunsDoNotHave) {
  std::vector<ComparedRun> runs{random_run(1, 3), random_run(2, 2)};
  runs[1].description.num_layers = 3;
  const Series series = make_series(runs, {"run", {0, 1}});
  EXPECT_EQ(series.left_out, 4U);
  EXPECT_EQ(series.columns.front().heads.size(), 8U);
  EXPECT_NE(series_table(series, runs).find("4 heads not in every run, left out."), std::string::npos);
}

TEST(Series, RefusesWhatHasNoOrder) {
  const std::vector<ComparedRun> runs{random_run(1), random_run(2)};
  EXPECT_EQ(refusal([&] { make_series(runs, {"step", {5, 5}}); }),
            "usage: two runs have the same step, 5: 'runsame' and 'runsame'");
  EXPECT_EQ(refusal([&] { make_series(std::span(runs).first(1), {"step", {5}}); }),
            "usage: a series takes two runs or more");
}

TEST(SeriesText, HasARowForEachColumnHeadAndRun) {
  const std::vector<ComparedRun> runs{random_run(1), random_run(2), random_run(3)};
  const Series series = make_series(runs, {"step", {1, 2, 3}}, {.columns = {"ap_exact", "slope_norm"}});
  const CsvTable table = parse_csv(series_csv(series));
  EXPECT_EQ(table.rows.size(), 2U * 8U * 3U);
  ASSERT_EQ(table.columns.size(), series_columns().size());
  const std::size_t value = table.find("value").value_or(0);
  EXPECT_EQ(table.number(4, value), series.columns[0].heads[1].points[1].value);
  EXPECT_TRUE(table.rows.back()[table.find("q").value_or(0)].empty()) << "slope_norm has no errors";
}

TEST(SeriesText, ColumnsAreDocumented) {
  const std::string docs = read_text_file(source_folder() / "docs/formats.md");
  for (const DifferenceColumn& column : series_columns()) {
    EXPECT_NE(docs.find("| `" + std::string(column.name) + "` | " + std::string(column.meaning) + " |"),
              std::string::npos)
        << column.name;
  }
}

}  // namespace
}  // namespace attention_plasticity
