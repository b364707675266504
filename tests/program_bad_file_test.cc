// A bad file in place of one head of a real dump costs the heads that read it, and no others; the memory of the program
// stays bounded.

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "attention_plasticity/dump/crafted_parquet_testing.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

const fs::path example = source_folder() / "examples/smollm2-135m";
constexpr double mebibyte = 1024.0 * 1024;

/// Every 40th byte of the pages is changed.
std::string spoilt(const fs::path& file) {
  std::string bytes = read_bytes(file);
  for (std::size_t at = 100; at + 4000 < bytes.size(); at += 40) ++bytes[at];
  return bytes;
}

void write_narrow(const fs::path& file) {
  HeadRows rows = read_head_file(file, Side::key).rows;
  rows.width = 7;
  rows.vectors.resize(rows.size() * rows.width);
  write_head_file(file, rows);
}

struct BadFileCase {
  std::string name;
  std::string message;  ///< a part of the failure's message
  std::function<void(const fs::path& file)> make;
};

void PrintTo(const BadFileCase& bad, std::ostream* out) { *out << bad.name; }

std::string name_of(const ::testing::TestParamInfo<BadFileCase>& info) { return info.param.name; }

std::vector<BadFileCase> bad_files() {
  const auto crafted = [](const std::function<CraftedFile()>& make) {
    return [make](const fs::path& file) { write_bytes(file, make().bytes()); };
  };
  return {
      {"DeepSchema", "the footer has 50008 columns and groups of columns, and at most 1024 are read", crafted([] {
         CraftedFile file = zero_vectors(64, 64);
         file.nested_groups = 50000;
         return file;
       })},
      {"RunsOfAWidthOf2To30", "the vectors have 1073741824 components, and at most 65536 are read",
       crafted([] { return runs_of_zeros(4, std::int64_t{1} << 30); })},
      {"RunsThatClaimAWidthOf64", "a page holds 1073741824 entries, and 256 are left of those that the footer says",
       crafted([] {
         CraftedFile file = runs_of_zeros(4, std::int64_t{1} << 30);
         file.columns.back().entries = 4 * 64;
         return file;
       })},
      {"RunsOfManyRows", "it says 64000000 components in a file of ",
       crafted([] { return runs_of_zeros(1000, 64000); })},
      {"ZstdOfAGibibyte", "the vectors have 268435456 components, and at most 65536 are read",
       crafted([] { return compressed_zeros(std::int64_t{1} << 28); })},
      {"ZstdThatClaimsOneRow", "column 'vector' takes 1073741888 bytes in memory, and by the footer at most 1082615",
       crafted([] {
         CraftedFile file = compressed_zeros(std::int64_t{1} << 28);
         file.columns.back().entries = 64;
         file.columns.back().pages.back().entries = 64;
         return file;
       })},
      {"Spoilt", "the file is damaged", [](const fs::path& file) { write_bytes(file, spoilt(file)); }},
      {"OfAnotherWidth", "config.json says that a head of the model has 64", write_narrow},
  };
}

class BadFileInARealDump : public ProgramTest, public ::testing::WithParamInterface<BadFileCase> {
 protected:
  static void SetUpTestSuite() {
    ProgramTest::SetUpTestSuite();
    whole_ = std::make_unique<TemporaryFolder>();
    Surroundings surroundings;
    surroundings.folder = whole_->path();
    ASSERT_EQ(run_program(words(example), surroundings).code, 0);
  }
  static void TearDownTestSuite() {
    whole_.reset();
    ProgramTest::TearDownTestSuite();
  }

  static std::vector<std::string> words(const fs::path& dump) {
    return analyze_words(dump, {"--output_dir", "out", "--layers", "1-12", "--memory_limit", "64MiB"});
  }

  /// Replaces one file, runs, and returns how many heads failed. Their rows must be all that is missing.
  void replace_and_compare(const std::string& folder, Side side) {
    fs::copy(example, here_ / "dump", fs::copy_options::recursive);
    GetParam().make(here_ / "dump" / folder / "data.parquet");
    const Outcome outcome = run(words(here_ / "dump"));
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    const nlohmann::json json = nlohmann::json::parse(read_bytes(here_ / "out/run.json"));
    const auto failed = json["heads"]["failed"];
    ASSERT_FALSE(failed.empty());
    std::vector<std::string> starts;
    for (const auto& head : failed) {
      EXPECT_EQ(head["file"], (here_ / "dump" / folder / "data.parquet").string());
      EXPECT_NE(head["error"].get<std::string>().find(GetParam().message), std::string::npos) << head["error"];
      starts.push_back(std::to_string(head["layer"].get<int>()) + "," + std::to_string(head["q_head"].get<int>()) +
                       ",");
    }
    EXPECT_EQ(failed.size(), side == Side::query ? 1U : readers_of_keys(folder));
    EXPECT_LT(json["resources"]["peak_rss_bytes"].get<double>(), (64 + 128) * mebibyte);
    for (const fs::directory_entry& table : fs::directory_iterator(*whole_ / "out")) {
      if (table.path().extension() == ".csv") {
        EXPECT_EQ(read_bytes(here_ / "out" / table.path().filename()), without(read_bytes(table.path()), starts))
            << table.path();
      }
    }
  }

 private:
  /// The heads of the whole run that read a key file.
  static std::size_t readers_of_keys(const std::string& folder) {
    const std::string layer = std::to_string(std::stoi(folder.substr(1, 2)));
    const std::string head = std::to_string(std::stoi(folder.substr(4, 2)));
    std::size_t count = 0;
    for (const std::string& line : lines_of(read_bytes(*whole_ / "out/head_metrics.csv"))) {
      const std::size_t first = line.find(',');
      const std::size_t second = line.find(',', first + 1);
      const std::size_t third = line.find(',', second + 1);
      if (line.substr(0, first) == layer && line.substr(second + 1, third - second - 1) == head) ++count;
    }
    return count;
  }

  static std::string without(const std::string& table, const std::vector<std::string>& starts) {
    std::string kept;
    for (const std::string& line : lines_of(table)) {
      if (std::ranges::none_of(starts, [&](const std::string& start) { return line.starts_with(start); })) {
        kept += line + "\n";
      }
    }
    return kept;
  }

  static inline std::unique_ptr<TemporaryFolder> whole_;
};

TEST_P(BadFileInARealDump, OfQueriesCostsThatHead) { replace_and_compare("l01h00q", Side::query); }
TEST_P(BadFileInARealDump, OfKeysCostsTheHeadsThatReadThem) { replace_and_compare("l01h00k", Side::key); }

INSTANTIATE_TEST_SUITE_P(Program, BadFileInARealDump, ::testing::ValuesIn(bad_files()), name_of);

class ProgramBadFileTest : public ProgramTest {};

TEST_F(ProgramBadFileTest, ARotationThatDoesNotFitOneHeadEndsThatHead) {
  fs::copy(example, here_ / "dump", fs::copy_options::recursive);
  fs::remove(here_ / "dump/config.json");
  const std::string first = "l01h00q";
  write_narrow(here_ / "dump" / first / "data.parquet");
  const Outcome outcome = run(analyze_words(
      "dump", {"--output_dir", "out", "--rope_theta", "100000", "--num_q_heads", "9", "--num_k_heads", "3"}));
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  const nlohmann::json failed = nlohmann::json::parse(read_bytes(here_ / "out/run.json"))["heads"]["failed"];
  ASSERT_EQ(failed.size(), 1U) << failed;
  EXPECT_NE(failed[0]["file"].get<std::string>().find(first), std::string::npos) << failed;
}

}  // namespace
}  // namespace attention_plasticity
