// What strangers may write into data: names that would command a terminal, numbers at the edge, files that are no
// files.

#include <sys/stat.h>

#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/results/csv.h"
#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr const char* hostile =
    "\x1b]0;pwned\x07\x1b[2J<script>alert(1)</script>\xc2\x9b"
    "31m\u202e";

void expect_printable(const std::string& text, const std::string& what) {
  EXPECT_EQ(printable_lines(text), text) << what;
}

class ProgramAttack : public ProgramTest {
 protected:
  fs::path copy(const fs::path& name) const {
    fs::create_directories((here_ / name).parent_path());
    fs::copy(dump(), here_ / name, fs::copy_options::recursive);
    return here_ / name;
  }

  /// Runs the program, and holds both streams to printable text.
  Outcome shown(const std::vector<std::string>& arguments, int code = 0) const {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << fmt::format("{}\n{}", arguments.front(), outcome.err);
    expect_printable(outcome.out, "standard output of " + arguments.front());
    expect_printable(outcome.err, "standard error of " + arguments.front());
    return outcome;
  }

  void write(const fs::path& file, const std::string& text) const { std::ofstream(file, std::ios::binary) << text; }

  /// A dump of one head: 240 queries and keys in 12 examples, with these buckets and positions.
  template <typename Rows>
  fs::path one_head(const fs::path& name, const Rows& change) const {
    for (const char* side : {"l00h00q", "l00h00k"}) {
      HeadRows rows;
      rows.width = 4;
      for (std::size_t i = 0; i < 240; ++i) {
        rows.bucket.push_back(static_cast<std::int64_t>(i / 60));
        rows.example.push_back(i % 12);
        rows.position.push_back(static_cast<double>(i));
        for (std::size_t c = 0; c < 4; ++c) {
          const auto number = static_cast<double>(i * 4 + c + (side[6] == 'k' ? 7 : 0));
          rows.vectors.push_back(static_cast<float>(std::sin(number * number)));
        }
      }
      change(rows);
      fs::create_directories(here_ / name / side);
      write_head_file(here_ / name / side / "data.parquet", rows);
    }
    return here_ / name;
  }
};

TEST_F(ProgramAttack, NamesOfStrangersReachNoTerminalRaw) {
  const fs::path folder = copy("dump");
  write(folder / "_saver_state.json",
        R"({"model_name": "\u001b]0;pwned\u0007\u001b[2J<script>alert(1)</script>\u009b31m\u202e"})");
  write(folder / "config.json",
        std::string("{\"model_type\": \"") + "\\u001b[31m\", \"rope_scaling\": {\"\\u001b[2J\": 1}}");
  std::string labels = std::string("layer,q_head,") + hostile + ",=cmd|' /C calc'!A0,\"a\"\"; system('x') #\"\n";
  for (int i = 0; i < 8; ++i) labels += fmt::format("{},{},{},{},{}\n", i / 4, i % 4, i, 8 - i, i * i);
  write(folder / "head_labels.csv", labels);
  const std::string out = (here_ / "out").string();
  const std::vector<std::string> rotation{"--rope", "none", "-o", out};

  shown({"inspect", folder.string()});
  const Outcome json = shown({"inspect", folder.string(), "--json"});
  EXPECT_NE(json.out.find("\\u009b"), std::string::npos) << "JSON escapes what it cannot show";
  shown(analyze_words(folder, {"--rope", "none", "--dry_run"}));
  shown(analyze_words(folder, rotation));
  const std::vector<std::string> validate{"validate", "--metrics", out, "--labels",
                                          (folder / "head_labels.csv").string()};
  shown(validate);
  std::vector<std::string> words = validate;
  words.emplace_back("--json");
  shown(words);
  words.back() = "--csv";
  const Outcome csv = shown(words);
  EXPECT_NE(csv.out.find("spearman,'=cmd|' /C calc'!A0,"), std::string::npos) << csv.out;
  EXPECT_EQ(csv.out.find(",="), std::string::npos) << "no formula for a spreadsheet";
  shown({"plan", out, "--keep", "0.5"});
  shown({"report", out, "--labels", (folder / "head_labels.csv").string()});
  const std::string page = read_bytes(here_ / "out" / "report.html");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("\x1b"), std::string::npos);
  for (const std::string& name : names_in(here_ / "out")) {
    if (name.ends_with(".csv") || name.ends_with(".json")) expect_printable(read_bytes(here_ / "out" / name), name);
  }
}

TEST_F(ProgramAttack, NamesOfFoldersReachNoTerminalRaw) {
  const fs::path folder = copy(fs::path("all") / "\x1b]0;pwn\x07\x1b[31mX");
  const Outcome refused = shown({"inspect", (here_ / "all").string()}, 3);
  EXPECT_NE(refused.err.find("pass --model_dir \\x1b]0;pwn\\x07\\x1b[31mX\n"), std::string::npos) << refused.err;
  shown({"inspect", copy(fs::path("bytes") / "\xff\xfe").string()});
  shown({"inspect", folder.string()});
  shown(analyze_words(folder, {"--rope", "none", "-o", (here_ / "out").string()}));
  shown(analyze_words(folder / "none", {}), 3);
  const std::string flag = "--\x1b[31mlayers";
  shown({"analyze", flag}, 2);
  shown({"\x1b[31m"}, 2);
  write(here_ / "a.yaml", "\"\\e[31m\": 1\n");
  shown({"analyze", "--config", (here_ / "a.yaml").string()}, 2);
}

TEST_F(ProgramAttack, SideFilesAreFilesOfABoundedSize) {
  const fs::path folder = copy("dump");
  for (const char* name : {"config.json", "_saver_state.json", "head_labels.csv"}) {
    fs::remove(folder / name);
    ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
  }
  // Nothing waits for a writer. The labels beside a dump are taken only if they are a file.
  shown(analyze_words(folder, {"--rope", "none", "-o", (here_ / "out").string(), "--quiet"}));
  shown(analyze_words(folder, {"--rope_config", (folder / "config.json").string()}), 2);
  const Outcome yaml = shown({"analyze", "--config", (folder / "config.json").string()}, 2);
  EXPECT_NE(yaml.err.find("is a pipe, a device or the like, and should be a file"), std::string::npos) << yaml.err;
  shown({"analyze", "--config", "/dev/zero"}, 2);
  shown({"validate", "--metrics", (here_ / "out").string(), "--labels", "/dev/zero"}, 3);
  shown({"plan", "--plan", "/dev/zero"}, 3);
  for (const char* name : {"config.json", "_saver_state.json"}) {
    fs::remove(folder / name);
    write(folder / name, "{");
    fs::resize_file(folder / name, std::uintmax_t{1} << 40U);
  }
  const Outcome large = shown({"inspect", folder.string()});
  EXPECT_NE(large.err.find("_saver_state.json: is larger than 16.0 MiB"), std::string::npos) << large.err;
}

TEST_F(ProgramAttack, AliasesOfYamlDoNotGrowWithoutBound) {
  std::string text = "output_dir: &a " + std::string(100'000, 'x') + "\nrope_scaling: {type: yarn, factor: [";
  for (int i = 0; i < 10'000; ++i) text += "*a,";
  write(here_ / "a.yaml", text + "1]}\n");
  const Outcome outcome = shown({"analyze", "--config", (here_ / "a.yaml").string()}, 2);
  EXPECT_NE(outcome.err.find("grows to more than 1 MiB by its aliases"), std::string::npos) << outcome.err;
}

TEST_F(ProgramAttack, BucketsOfAnyNumberAreReadBack) {
  const fs::path folder = one_head("dump", [](HeadRows& rows) {
    constexpr std::array<std::int64_t, 4> numbers{9'999, 10'690, std::int64_t{1} << 40U,
                                                  std::numeric_limits<std::int64_t>::max()};
    for (std::int64_t& bucket : rows.bucket) bucket = numbers[static_cast<std::size_t>(bucket)];
  });
  const std::string out = (here_ / "out").string();
  shown(analyze_words(folder, {"--rope", "none", "-o", out, "--quiet"}));
  const CsvTable cells = read_csv(here_ / "out" / "head_bucket_plasticity.csv");
  ASSERT_EQ(cells.rows.size(), 6U);
  EXPECT_EQ(cells.whole_number(5, 3), std::numeric_limits<std::int64_t>::max());
  shown({"report", out});
  for (const char* figure : {"plasticity", "heatmap"}) shown({"plot", figure, out});
}

TEST_F(ProgramAttack, PositionsFarFromZeroChangeOnlyTheLogarithm) {
  const auto metrics = [&](const std::string& name, double start) {
    const fs::path folder = one_head(name, [start](HeadRows& rows) {
      for (double& position : rows.position) position += start;
    });
    const std::string out = (here_ / ("out-" + name)).string();
    shown(analyze_words(folder, {"--rope", "none", "-o", out, "--quiet"}));
    return read_csv(fs::path(out) / "head_metrics.csv");
  };
  const CsvTable near = metrics("near", 0);
  const CsvTable far = metrics("far", 1099511627776.0);
  for (std::size_t column = 0; column < near.columns.size(); ++column) {
    const std::string& name = near.columns[column];
    if (name.starts_with("q_mae") || name == "q_R2_scalar") continue;  // of log2(position + 1)
    EXPECT_EQ(far.number(0, column), near.number(0, column)) << name;
  }
  EXPECT_LT(far.number(0, far.find("q_R2_scalar").value()), 0.9);
}

TEST_F(ProgramAttack, PositionsThatADoubleCannotTellApartAreAnError) {
  const fs::path folder = copy("dump");
  const fs::path file = folder / "l00h00q" / "data.parquet";
  write_parquet(file, four_rows_with({"position", array_of(arrow::int64(), "[0, 1, 2, 9007199254740993]")}));
  const Outcome outcome =
      shown(analyze_words(folder, {"--rope", "none", "-o", (here_ / "out").string(), "--quiet"}), 1);
  EXPECT_NE(outcome.err.find("position"), std::string::npos);
  EXPECT_NE(outcome.err.find("is 9007199254740993, beyond 2^53"), std::string::npos) << outcome.err;
}

TEST_F(ProgramAttack, EqualVectorsGetANote) {
  const fs::path folder = one_head("dump", [](HeadRows& rows) { std::ranges::fill(rows.vectors, 0.5F); });
  const Outcome outcome = shown(analyze_words(folder, {"--rope", "none", "-o", (here_ / "out").string()}));
  EXPECT_NE(outcome.err.find("the same vector in every row: the queries of 1 head, the keys of 1 head, first layer 0 "
                             "q_head 0; the figures of such a head say nothing about the model\n"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(
      shown(analyze_words(dump(), {"--rope", "none", "-o", (here_ / "other").string()})).err.find("the same vector"),
      std::string::npos);
}

// Queries that are exactly multiples of one vector, from a dump that once gave a normality of rounding errors.
TEST_F(ProgramAttack, CollinearQueriesHaveNoSpreadAcrossTheirLine) {
  const fs::path folder = source_folder() / "tests" / "attack" / "num_collinear";
  shown(analyze_words(folder, {"--rope", "none", "-o", (here_ / "out").string(), "--quiet"}));
  const CsvTable metrics = read_csv(here_ / "out" / "head_metrics.csv");
  const auto value = [&](const char* column) { return metrics.number(0, metrics.find(column).value()); };
  EXPECT_EQ(value("q_noise_med_abs_skew"), 0);
  EXPECT_EQ(value("q_noise_med_abs_kurt"), 0);
  EXPECT_EQ(value("q_noise_med_ks_p"), 1);
  EXPECT_EQ(value("q_noise_frac_ks_p_lt_alpha"), 0);
  EXPECT_NE(value("q_resid0_skew"), 0) << "along the line there is spread";
}

}  // namespace
}  // namespace attention_plasticity
