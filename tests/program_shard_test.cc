// Runs in shards that are merged.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>

#include "attention_plasticity/synth/synthetic_dump.h"
#include "places.h"
#include "program_support.h"
#include "same_results.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

const fs::path examples = source_folder() / "examples";

class ProgramShard : public ProgramTest {
 protected:
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}

  /// A dump of the heads of an embedded one, without its config.json.
  fs::path without_config(const std::string& name) const {
    const fs::path dump = here_ / "dump";
    fs::create_directories(dump);
    for (const auto& entry : fs::directory_iterator(examples / name)) {
      if (entry.is_directory()) fs::create_directory_symlink(entry.path(), dump / entry.path().filename());
    }
    return dump;
  }

  void write_small_dump() const {
    SynthOptions options;
    options.layers = 2;
    options.q_heads = 4;
    options.k_heads = 2;
    options.rows = 120;
    options.dim = 8;
    options.examples = 6;
    options.buckets = 3;
    options.bucket_size = 16;
    options.truth_pairs = 0;
    write_synthetic_dump(here_ / "dump", options);
  }

  Outcome expect_success(const std::vector<std::string>& words) const {
    Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << fmt::format("{}", fmt::join(words, " ")) << "\n" << outcome.err;
    return outcome;
  }

  /// Measures in one run and in each number of shards, and expects the same bytes.
  void expect_shards_give_one_run(const fs::path& dump, const std::vector<int>& counts,
                                  const std::vector<std::string>& flags = {}) {
    const auto words = [&](const std::string& out, std::vector<std::string> more) {
      more.insert(more.end(), flags.begin(), flags.end());
      more.insert(more.end(), {"--output_dir", out, "--quiet"});
      return analyze_words(dump, more);
    };
    expect_success(words("out", {}));
    fs::rename(here_ / "out", here_ / "one");
    std::mt19937 random(7);
    for (const int count : counts) {
      SCOPED_TRACE(fmt::format("{} shards", count));
      std::vector<std::string> folders;
      for (int number = 1; number <= count; ++number) {
        folders.push_back(fmt::format("shards-{}/{}", count, number));
        expect_success(words(folders.back(), {"--shard", fmt::format("{}/{}", number, count)}));
      }
      std::ranges::shuffle(folders, random);
      folders.insert(folders.begin(), {"merge", "out"});
      folders.emplace_back("--quiet");
      const Outcome merged = expect_success(folders);
      EXPECT_EQ(merged.out, "");
      expect_same_results(here_ / "out", here_ / "one");
      const auto json = nlohmann::json::parse(read_bytes(here_ / "out" / "run.json"));
      EXPECT_EQ(json["resources"]["shards"].size(), static_cast<std::size_t>(count));
      fs::remove_all(here_ / "out");
      fs::remove_all(here_ / fmt::format("shards-{}", count));
    }
    fs::remove_all(here_ / "one");
  }
};

TEST_F(ProgramShard, OfTheEmbeddedDumpsGiveOneRun) {
  expect_shards_give_one_run(examples / "smollm2-135m", {1, 3, 16});
  expect_shards_give_one_run(examples / "minidoc-qwen3", {1, 3, 16});
}

TEST_F(ProgramShard, WithAnInferredRotationGiveOneRun) {
  const fs::path dump = without_config("minidoc-qwen3");
  expect_shards_give_one_run(dump, {3, 16}, {"--layers", "0,3"});
}

TEST_F(ProgramShard, WithDifferentDocumentsGiveOneRun) {
  write_small_dump();
  give_other_documents(here_ / "dump");
  expect_shards_give_one_run("dump", {1, 3, 16});
}

TEST_F(ProgramShard, WithACheckedRotationWarnAsOneRunDoes) {
  write_small_dump();
  const std::vector<std::string> wrong{"--rope_theta", "123456", "--rope_layout", "interleaved"};
  const auto words = [&](std::vector<std::string> more) {
    more.insert(more.end(), wrong.begin(), wrong.end());
    return analyze_words("dump", more);
  };
  const Outcome one = expect_success(words({"--output_dir", "one", "--quiet"}));
  for (const char* number : {"1", "2"}) {
    expect_success(words({"--shard", fmt::format("{}/2", number), "--output_dir", number, "--quiet"}));
  }
  EXPECT_EQ(expect_success({"merge", "out", "1", "2", "--quiet"}).err, one.err);
  ASSERT_NE(one.err.find("contradict the rotation"), std::string::npos) << one.err;
  fs::rename(here_ / "dump", here_ / "moved");
  EXPECT_EQ(expect_success({"merge", "out", "1", "2", "--quiet"}).err, one.err) << "the dump is not needed";
}

TEST_F(ProgramShard, IsResumed) {
  write_small_dump();
  const std::vector<std::string> words =
      analyze_words("dump", {"--shard", "1/1", "--max_workers", "1", "--sampler", "local", "--num_pairs_per_bucket",
                             "20000", "--output_dir", "shard"});
  Surroundings surroundings;
  surroundings.folder = here_.path();
  RunningProgram program(words, surroundings);
  program.wait_for("[1/8]");
  program.send(SIGTERM);
  const Outcome stopped = program.finish();
  ASSERT_EQ(stopped.code, 143) << stopped.err;
  EXPECT_TRUE(last_line(stopped.err).starts_with("to go on: attention-plasticity analyze ")) << stopped.err;
  const Outcome early = run({"merge", "out", "shard"});
  EXPECT_EQ(early.code, 3);
  EXPECT_EQ(early.err,
            "attention-plasticity: shard: this shard is not complete; measure the rest of it with --resume\n");
  std::vector<std::string> resume = words;
  resume.emplace_back("--resume");
  const Outcome resumed = run(resume);
  EXPECT_EQ(resumed.code, 0);
  EXPECT_NE(resumed.err.find("of 8 heads are saved"), std::string::npos) << resumed.err;
  EXPECT_EQ(run(resume).err, "shard/shard.json: this run is complete; nothing is left to do\n");
  EXPECT_EQ(names_in(here_ / "shard"), (std::vector<std::string>{"heads", "shard.json"}));
  EXPECT_EQ(run({"merge", "out", "shard", "--quiet"}).code, 0);
}

TEST_F(ProgramShard, FailedHeadsAreThoseOfOneRun) {
  write_small_dump();
  write_bytes(here_ / "dump" / "l00h01q" / "data.parquet", "no parquet");
  write_bytes(here_ / "dump" / "l01h01k" / "data.parquet", "no parquet");
  EXPECT_EQ(run(analyze_words("dump", {"--output_dir", "out", "--quiet"})).code, 1);
  fs::rename(here_ / "out", here_ / "one");
  std::vector<std::string> merge{"merge", "out"};
  for (int number = 1; number <= 3; ++number) {
    merge.push_back(std::to_string(number));
    const Outcome outcome =
        run(analyze_words("dump", {"--shard", fmt::format("{}/3", number), "--output_dir", merge.back(), "--quiet"}));
    EXPECT_LE(outcome.code, 1) << outcome.err;
  }
  EXPECT_EQ(run(merge).code, 1);
  expect_same_results(here_ / "out", here_ / "one");
}

TEST_F(ProgramShard, WrongUseIsRefused) {
  write_small_dump();
  const auto refused = [&](const std::vector<std::string>& flags) {
    const Outcome outcome = run(analyze_words("dump", flags));
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    return outcome.err;
  };
  EXPECT_EQ(refused({"--shard", "5/4"}), "attention-plasticity: --shard: 5/4: the shards of 4 are 1 to 4\n");
  EXPECT_EQ(refused({"--shard", "three"}),
            "attention-plasticity: --shard: 'three' is not a shard; 3/16 is the third of 16\n");
  EXPECT_EQ(run({"merge", "out"}).code, 2);
  expect_success(analyze_words("dump", {"--shard", "1/2", "-o", "a", "--quiet"}));
  EXPECT_EQ(refused({"--shard", "2/2", "-o", "a"}),
            "attention-plasticity: a/shard.json: this is shard 1/2, and shard 2/2 is asked for; pass --overwrite to "
            "replace it, or another --output_dir\n");
  expect_success(analyze_words("dump", {"--shard", "2/2", "-o", "a", "--overwrite", "--quiet"}));
}

}  // namespace
}  // namespace attention_plasticity
