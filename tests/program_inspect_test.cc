// The subcommands `inspect` and `synth`.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class ProgramInspect : public ProgramTest {
 protected:
  /// A copy of the dump, with `count` of its query heads made unreadable.
  fs::path damaged_dump(std::size_t count) const {
    const fs::path copy = here_ / "damaged";
    fs::copy(dump(), copy, fs::copy_options::recursive);
    std::size_t damaged = 0;
    for (const std::string& name : names_in(copy)) {
      if (!name.starts_with("l0") || damaged == count) continue;
      write_bytes(copy / name / "data.parquet", "nonsense");
      ++damaged;
    }
    return copy;
  }
};

TEST_F(ProgramInspect, TableHasALineForEachFile) {
  const Outcome outcome = run({"inspect", dump().string()});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(is_plain_text(outcome.out));
  EXPECT_EQ(lines_starting(outcome.out, "shape     2 layers, 4 query heads, 2 key heads").size(), 1U) << outcome.out;
  EXPECT_EQ(lines_starting(outcome.out, "captured  8 query heads, 4 key heads, 1440 rows, ").size(), 1U);
  const auto rows = lines_starting(outcome.out, "l0");
  EXPECT_EQ(rows.size(), 12U);
  for (const std::string& row : rows) EXPECT_EQ(row.size(), rows.front().size()) << row;
}

TEST_F(ProgramInspect, JsonHoldsEveryFile) {
  const Outcome outcome = run({"inspect", "--json", dump().string()});
  EXPECT_EQ(outcome.code, 0);
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["num_layers"], 2);
  EXPECT_EQ(json["query_heads"], 8);
  EXPECT_EQ(json["key_heads"], 4);
  EXPECT_EQ(json["sampling"]["strategy"], "uniform");
  EXPECT_EQ(json["sampling"]["bucket_size"], 16);
  ASSERT_EQ(json["files"].size(), 12U);
  for (const Json& file : json["files"]) {
    EXPECT_EQ(file["rows"], 120);
    EXPECT_EQ(file["width"], 8);
    EXPECT_EQ(file["buckets"], 4);
    EXPECT_EQ(file["examples"], 4);
    EXPECT_TRUE(file["window"].is_null());
    EXPECT_EQ(file["bytes"], fs::file_size(dump() / file["file"].get<std::string>()));
  }
  EXPECT_EQ(json["files"][0]["file"], "l00h00q/data.parquet");
}

TEST_F(ProgramInspect, ReadsTheExampleDumps) {
  const Json sliding =
      Json::parse(run({"inspect", "--json", (source_folder() / "examples/minidoc-qwen3").string()}).out);
  EXPECT_EQ(sliding["num_layers"], 10);
  EXPECT_EQ(sliding["query_heads"], 60);
  EXPECT_EQ(sliding["key_heads"], 20);
  for (const Json& file : sliding["files"]) {
    const bool is_windowed = file["side"] == "query" && file["layer"].get<int>() % 3 == 2;
    EXPECT_EQ(file["window"], is_windowed ? Json(512.0) : Json(nullptr)) << file;
    EXPECT_EQ(file["page_checksums"], true);
  }
}

TEST_F(ProgramInspect, CountsFilesWithoutPageChecksums) {
  EXPECT_TRUE(lines_starting(run({"inspect", dump().string()}).out, "checksums").empty());
  const fs::path copy = here_ / "dump";
  fs::copy(dump(), copy, fs::copy_options::recursive);
  write_parquet(copy / "l00h01q/data.parquet", four_rows());
  EXPECT_EQ(lines_starting(run({"inspect", copy.string()}).out, "checksums"),
            std::vector<std::string>{"checksums 1 of 12 files has none, the first l00h01q: damage to it may change "
                                     "numbers unnoticed"});
  write_parquet(copy / "l00h01k/data.parquet", four_rows());
  EXPECT_EQ(lines_starting(run({"inspect", copy.string()}).out, "checksums"),
            std::vector<std::string>{"checksums 2 of 12 files have none, the first l00h01q: damage to them may change "
                                     "numbers unnoticed"});
  const Json inspected = Json::parse(run({"inspect", "--json", copy.string()}).out);
  for (const Json& file : inspected["files"]) {
    EXPECT_EQ(file["page_checksums"], file["file"] != "l00h01q/data.parquet" && file["file"] != "l00h01k/data.parquet");
  }
}

TEST_F(ProgramInspect, UnreadableFilesAreListedAndChangeTheExitCode) {
  const fs::path some = damaged_dump(1);
  const Outcome table = run({"inspect", some.string()});
  EXPECT_EQ(table.code, 1);
  const auto told = lines_starting(table.out, "l00h00k   unreadable: this is not a Parquet file; ");
  EXPECT_EQ(told.size(), 1U) << table.out;
  const Outcome outcome = run({"inspect", some.string(), "--json"});
  EXPECT_EQ(outcome.code, 1);
  const Json json = Json::parse(outcome.out);
  const auto errors = std::ranges::count_if(json["files"], [](const Json& file) { return file.contains("error"); });
  EXPECT_EQ(errors, 1);
}

TEST_F(ProgramInspect, DumpOfUnreadableFilesIsUnusableInput) {
  EXPECT_EQ(run({"inspect", damaged_dump(12).string()}).code, 3);
}

TEST_F(ProgramInspect, FollowsModelDir) {
  fs::create_directory_symlink(dump(), here_ / "model");
  EXPECT_EQ(run({"inspect", ".", "--model-dir", "model"}).code, 0);
  const Outcome without = run({"inspect", "."});
  EXPECT_EQ(without.code, 3);
  EXPECT_NE(without.err.find("pass --model_dir model"), std::string::npos) << without.err;
}

class ProgramSynth : public ProgramInspect {};

TEST_F(ProgramSynth, DumpIsReadByAnalyze) {
  const Outcome synth = run({"synth", "new/dump", "--layers", "1", "--q-heads=3", "--k_heads", "1", "--rows", "60",
                             "--dim", "4", "--window", "40", "--bfloat16", "--truth_pairs", "16", "--seed", "9"});
  EXPECT_EQ(synth.code, 0) << synth.err;
  EXPECT_EQ(synth.err, "writing about 58.4 KiB\n");
  EXPECT_EQ(synth.out, "new/dump: 3 query heads and 1 key heads of 60 rows x 4; the truth is in new/dump/truth.json\n");
  EXPECT_TRUE(Json::parse(read_bytes(here_ / "new" / "dump" / "truth.json")).is_object());
  const Outcome analyzed = run(analyze_words("new/dump", {"--quiet"}));
  EXPECT_EQ(analyzed.code, 0) << analyzed.err;
  EXPECT_EQ(lines_of(read_bytes(here_ / "head_metrics.csv")).size(), 4U);
  EXPECT_EQ(Json::parse(read_bytes(here_ / "run.json"))["model"]["layers"][0]["window"], 40.0);
}

TEST_F(ProgramSynth, SameSeedGivesTheSameBytes) {
  for (const std::string out : {"a", "b"}) {
    const Outcome outcome = run({"synth", out, "--quiet", "--rows", "30", "--dim", "4", "--truth_pairs", "0"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out + outcome.err, "");
  }
  EXPECT_EQ(names_in(here_ / "a"), names_in(here_ / "b"));
  EXPECT_EQ(read_bytes(here_ / "a" / "l01h03q" / "data.parquet"), read_bytes(here_ / "b" / "l01h03q" / "data.parquet"));
}

TEST_F(ProgramSynth, RefusesAFolderThatIsNotEmpty) {
  write_bytes(here_ / "mine", "x");
  const Outcome outcome = run({"synth", "."});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_EQ(outcome.err, "attention-plasticity: .: the folder is not empty: name a new one, or empty it first\n");
  EXPECT_EQ(names_in(here_.path()), std::vector<std::string>{"mine"});
  EXPECT_EQ(run({"synth", "mine/below"}).code, 6);
}

TEST_F(ProgramSynth, OptionsOutOfRangeAreWrongUse) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--rows", "many"}, "--rows: many is not an integer in plain decimal"},
      {{"--slope", "steep"}, "--slope: steep is not a number"},
      {{"--spacing", "lgo"}, "--spacing: lgo is not one of uniform, log; did you mean log?"},
      {{"--q_heads", "3", "--k_heads", "2"}, "q_heads must be a multiple of k_heads: 3 is not a multiple of 2"},
      {{"--bfloat16=perhaps"}, "--bfloat16: perhaps is not a boolean; write true or false"},
  };
  for (const auto& [flags, message] : cases) {
    std::vector<std::string> words{"synth", "out"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err, "attention-plasticity: " + message + "\n");
  }
  EXPECT_EQ(names_in(here_.path()), std::vector<std::string>{});
}

}  // namespace
}  // namespace attention_plasticity
