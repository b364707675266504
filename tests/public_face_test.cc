// What a program sees that links the library: golden figures through the public headers alone.

#include <attention_plasticity/analyze_dump.h>
#include <attention_plasticity/error.h>
#include <attention_plasticity/memory.h>
#include <attention_plasticity/version.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "places.h"

namespace ap = attention_plasticity;
namespace fs = std::filesystem;

namespace {

const fs::path source = ap::source_folder();

struct GoldenTable {
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;  // NaN for an empty field
};

GoldenTable read_golden(const fs::path& file) {
  GoldenTable table;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream fields(line + ",");
    std::vector<double>* row = table.columns.empty() ? nullptr : &table.rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) {
      if (row == nullptr) {
        table.columns.push_back(field);
      } else {
        row->push_back(field.empty() ? std::nan("") : std::stod(field));
      }
    }
  }
  return table;
}

// The golden values of Kolmogorov tests are accurate to about 3e-6. An R² near zero is a difference of nearly equal
// numbers.
double tolerance(const std::string& column, double value) {
  if (column.ends_with("_ks_p")) return 1e-5 * std::abs(value);
  return 1e-9 * std::abs(value) + (column == "r2" || column == "weight" ? 1e-12 : 0);
}

void expect_figures(const ap::Table& table, const fs::path& file) {
  SCOPED_TRACE(file.string());
  const GoldenTable golden = read_golden(file);
  ASSERT_EQ(table.rows, golden.rows.size());
  ASSERT_GT(table.rows, 0U);
  for (std::size_t c = 0; c < golden.columns.size(); ++c) {
    const std::vector<double> values = table.numbers(golden.columns[c]);
    for (std::size_t row = 0; row < table.rows; ++row) {
      const double expected = golden.rows[row].at(c);
      ASSERT_EQ(std::isnan(values[row]), std::isnan(expected)) << golden.columns[c] << ", row " << row;
      if (std::isnan(expected)) continue;
      ASSERT_NEAR(values[row], expected, tolerance(golden.columns[c], expected))
          << golden.columns[c] << ", row " << row;
    }
  }
}

ap::DumpFolder example(const std::string& name) { return {source / "examples" / name, {}}; }

TEST(PublicFace, HoldsTheGoldenFigures) {
  for (const std::string name : {"minidoc-qwen3", "smollm2-135m"}) {
    const ap::AnalyzedDump dump = ap::analyze_dump(example(name));
    EXPECT_TRUE(dump.failures().empty());
    EXPECT_FALSE(dump.interrupted());
    const fs::path golden = source / "tests/golden" / name;
    expect_figures(dump.table(ap::TableId::metrics), golden / "positional/head_metrics.csv");
    expect_figures(dump.table(ap::TableId::buckets), golden / "positional/head_bucket_plasticity.csv");
    expect_figures(dump.table(ap::TableId::components), golden / "positional/head_component_weights.csv");
    expect_figures(dump.table(ap::TableId::metrics), golden / "exact/head_exact.csv");
    expect_figures(dump.table(ap::TableId::time), golden / "exact/head_time_exact.csv");
    expect_figures(dump.table(ap::TableId::distance), golden / "exact/head_distance_plasticity.csv");
    expect_figures(dump.table(ap::TableId::groups), golden / "exact/head_groups_exact.csv");
  }
}

// `compat` decides on other options, whatever they say.
TEST(PublicFace, HoldsTheFiguresOfThePythonToolkit) {
  ap::RunOptions options;
  options.compat = ap::Compat::python;
  options.analysis.method = ap::Method::full;
  const ap::AnalyzedDump dump = ap::analyze_dump(example("minidoc-qwen3"), options);
  const fs::path golden = source / "tests/golden/minidoc-qwen3/python-compat";
  expect_figures(dump.table(ap::TableId::metrics), golden / "head_metrics.csv");
  expect_figures(dump.table(ap::TableId::buckets), golden / "head_bucket_plasticity.csv");
  EXPECT_EQ(dump.table(ap::TableId::time).rows, 0U);
  EXPECT_TRUE(dump.table(ap::TableId::time).columns.empty());
}

TEST(PublicFace, TellsAnObserverAndKeepsWhatIsFinished) {
  std::size_t ended = 0;
  std::stop_source stop;
  ap::RunObserver observer;
  observer.head_ended = [&](const ap::HeadEvent& event) {
    ASSERT_NE(event.result, nullptr);
    if (++ended == 3) stop.request_stop();
  };
  const ap::AnalyzedDump dump =
      ap::analyze_dump(example("minidoc-qwen3"), {.max_workers = 1}, observer, stop.get_token());
  EXPECT_TRUE(dump.interrupted());
  EXPECT_EQ(dump.heads().size(), ended);
  EXPECT_LT(ended, 40U);
}

TEST(PublicFace, RefusesWithTheNameOfTheField) {
  const auto refused = [](const ap::RunOptions& options) -> std::string {
    try {
      ap::analyze_dump(example("minidoc-qwen3"), options);
    } catch (const ap::Error& error) {
      EXPECT_EQ(error.kind(), ap::ErrorKind::usage);
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(refused({.max_workers = 0}), "`max_workers`: 0 is out of range; it must lie between 1 and 2147483647");
  ap::RunOptions options;
  options.analysis.p_alpha = 2;
  EXPECT_EQ(refused(options), "`p_alpha`: 2 is out of range; it must lie between 0 and 1 (exclusive)");
  EXPECT_EQ(refused({.layers = std::vector{99}}), "`layers`: 99 is out of range; the model has 10 layers, 0 to 9");
  try {
    ap::analyze_dump(ap::DumpFolder{"no/such/folder", {}});
    FAIL();
  } catch (const ap::Error& error) {
    EXPECT_EQ(error.kind(), ap::ErrorKind::input);
    EXPECT_EQ(ap::exit_code(error.kind()), 3);
  }
}

TEST(PublicFace, WritesAndReadsTables) {
  const fs::path folder = fs::temp_directory_path() / ("public_face_test." + std::to_string(::getpid()));
  const ap::AnalyzedDump dump = ap::analyze_dump(example("minidoc-qwen3"), {.layers = std::vector{0}});
  const std::vector<fs::path> files = dump.save(folder);
  EXPECT_EQ(files.size(), ap::table_count + 1);
  const ap::AnalyzedDump other = ap::analyze_dump(example("smollm2-135m"), {.layers = std::vector{1}});
  try {
    other.save(folder);
    FAIL() << "replaced the results of another model";
  } catch (const ap::Error& error) {
    EXPECT_EQ(error.kind(), ap::ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("pass `overwrite` to replace them"), std::string::npos) << error.what();
  }
  other.save(folder, {.overwrite = true});
  dump.save(folder, {.overwrite = true});
  for (const ap::TableInfo& info : ap::table_infos()) {
    const ap::Table written = dump.table(info.id);
    const ap::Table read = ap::read_table(folder, info.id);
    ASSERT_EQ(read.rows, written.rows) << info.name;
    ASSERT_EQ(read.columns.size(), written.columns.size()) << info.name;
    for (const ap::TableColumn& column : written.columns) {
      ASSERT_NE(read.find(column.name), nullptr) << column.name;
      EXPECT_EQ(read.find(column.name)->values.index(), column.values.index()) << column.name;
      const std::vector<double> a = read.numbers(column.name);
      const std::vector<double> b = written.numbers(column.name);
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])));
    }
  }
  EXPECT_EQ(ap::read_table(folder, ap::TableId::metrics).find("no such column"), nullptr);
  EXPECT_THROW(ap::read_table(folder, ap::TableId::metrics).numbers("no such column"), ap::Error);
  EXPECT_THROW(ap::read_table(folder / "nothing", ap::TableId::metrics), ap::Error);
  fs::remove_all(folder);
}

TEST(PublicFace, HasMeansOfTheModel) {
  const ap::AnalyzedDump dump = ap::analyze_dump(example("minidoc-qwen3"));
  const ap::ModelMean exact = dump.model_mean("ap_exact");
  double sum = 0;
  for (const ap::HeadResult& head : dump.heads()) sum += head.exact->overall;
  EXPECT_EQ(exact.heads, dump.heads().size());
  EXPECT_NEAR(exact.mean, sum / static_cast<double>(exact.heads), 1e-12);
  EXPECT_GT(exact.error, 0);
  EXPECT_TRUE(std::isnan(dump.model_mean("q_R2_pos").error));
  EXPECT_THROW(dump.model_mean("no such column"), ap::Error);
}

TEST(PublicFace, NamesItsVersion) {
  EXPECT_EQ(ap::program_version().version, std::to_string(AP_VERSION_MAJOR) + "." + std::to_string(AP_VERSION_MINOR) +
                                               "." + std::to_string(AP_VERSION_PATCH));
  EXPECT_EQ(AP_VERSION, AP_VERSION_MAJOR * 10000 + AP_VERSION_MINOR * 100 + AP_VERSION_PATCH);
}

TEST(PublicFace, ReleasesItsMemory) {
  ap::analyze_dump(example("minidoc-qwen3"), {.layers = std::vector{0}});
  EXPECT_EQ(ap::kept_memory_bytes(), 0U);
  ap::release_kept_memory();
  EXPECT_EQ(ap::kept_memory_bytes(), 0U);
}

}  // namespace
