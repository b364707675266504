#include "attention_plasticity/outcomes/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "attention_plasticity/error.h"
#include "attention_plasticity/outcomes/run_manifest.h"
#include "attention_plasticity/run/dump_run.h"
#include "attention_plasticity/run/merged_run.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.file()) + (error.file().empty() ? "" : ": ") + error.what();
  }
  return "no error";
}

TEST(Shard, IsANumberOfACount) {
  const Shard shard = Shard::of("3/16");
  EXPECT_EQ(shard.number, 3U);
  EXPECT_EQ(shard.count, 16U);
  EXPECT_EQ(shard.text(), "3/16");
  for (const char* bad : {"", "3", "/", "3/", "/16", "a/16", "3/16x", "-1/3", "0/16", "3/0", " 1/2", "1.0/2"}) {
    EXPECT_NE(message_of([&] { Shard::of(bad); }).find("is not a shard; 3/16 is the third of 16"), std::string::npos)
        << bad;
  }
  EXPECT_EQ(message_of([] { Shard::of("17/16"); }), "17/16: the shards of 16 are 1 to 16");
}

TEST(Shard, TogetherTheyAreTheRunAndKeyGroupsStayWhole) {
  const SmallDump dump(3, 6, 2);
  const PreparedRun prepared = prepare_run(dump.config());
  for (const std::size_t count : {1U, 2U, 3U, 5U, 6U, 16U}) {
    std::set<HeadId> seen;
    std::map<std::pair<int, int>, std::set<std::size_t>> shards_of_group;
    for (std::size_t number = 1; number <= count; ++number) {
      const std::vector<HeadTask> tasks = shard_tasks(prepared, {number, count});
      EXPECT_TRUE(std::ranges::is_sorted(tasks, {}, &HeadTask::head));
      for (const HeadTask& task : tasks) {
        EXPECT_TRUE(seen.insert(task.head).second);
        shards_of_group[{task.head.layer, task.head.k_head}].insert(number);
      }
    }
    EXPECT_EQ(seen.size(), prepared.tasks.size());
    for (const auto& [group, shards] : shards_of_group) EXPECT_EQ(shards.size(), 1U);
  }
}

TEST(Shard, AreBalancedByRows) {
  const SmallDump dump(1, 5, 5);
  // One group has as many rows as all others together.
  std::vector<std::uint64_t> examples(24);
  for (std::size_t i = 0; i < examples.size(); ++i) examples[i] = i;
  dump.write(Side::query, 0, 2, small_rows(1, examples));
  dump.write(Side::key, 0, 2, small_rows(2, examples));
  const PreparedRun prepared = prepare_run(dump.config());
  const std::vector<HeadTask> first = shard_tasks(prepared, {1, 2});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].head.q_head, 2);
  EXPECT_EQ(shard_tasks(prepared, {2, 2}).size(), 4U);
}

TEST(Manifest, GivesBackTheRun) {
  const SmallDump dump(2, 4, 2);
  const RunConfig config = dump.config({{"--num_triples", "64"}, {"--rope_theta", "12345.678"}, {"--layers", "0-1"}});
  PreparedRun prepared = prepare_run(config);
  decide(prepared, config, serialized({}), {});
  const std::string manifest = manifest_text(prepared, config);
  const PreparedRun read = recorded_run(manifest, "m");
  EXPECT_EQ(read.tasks.size(), prepared.tasks.size());
  EXPECT_EQ(read.layout.file(Side::key, {1, 1}), prepared.layout.file(Side::key, {1, 1}));
  EXPECT_EQ(read.reference_documents, (std::vector<DocumentRange>{{0, 5}}));
  EXPECT_EQ(recorded_files(read), recorded_files(prepared));
  EXPECT_EQ(read.model_name, prepared.model_name);
  EXPECT_EQ(read.rotation->layer(1, 4).rotation.frequency, prepared.rotation->layer(1, 4).rotation.frequency);
  const RunConfig again = resolve_config(recorded_settings(manifest, "m"));
  EXPECT_EQ(manifest_text(read, again), manifest) << "the manifest of what was read is the same text";
  EXPECT_TRUE(manifest_differences(manifest, manifest).empty());
  EXPECT_EQ(message_of([] { recorded_run("{}", "m"); }).substr(0, 28), "m: not the record of a run: ");
}

// Shards of a run over a dump, each in a folder of its own.
class MergedShards : public testing::Test {
 protected:
  RunConfig config(Flags flags = {}) const { return dump_.config(flags); }

  fs::path write(std::size_t number, std::size_t count, const std::string& folder, const RunConfig& run) const {
    RunConfig own = run;
    own.tables[TableId::metrics] = (dump_.output() / folder / "head_metrics.csv").string();
    DumpRun shard(own, {}, {}, Shard{number, count});
    const HeadOutcomes outcomes = shard.measure_shard(1, {}, {}, {shard_heads_folder(own), false});
    write_shard(own, {number, count}, outcomes.heads.size(), 0, "here", {1, 2, 3, 4, {}});
    return dump_.output() / folder;
  }

  FinishedRun merged(const std::vector<fs::path>& shards, const RunObserver& observer = {}) const {
    RunResources resources;
    return merge_shards(shards, "merged", false, observer, resources);
  }
  std::string merge_message(const std::vector<fs::path>& shards) const {
    return message_of([&] { merged(shards); });
  }

  const SmallDump dump_{2, 4, 2};
};

TEST_F(MergedShards, GiveTheResultsOfOneRunWithoutTheDump) {
  const RunResult whole = run_of(config());
  const std::vector<fs::path> shards{write(2, 2, "b", config()), write(1, 2, "a", config())};
  fs::rename(dump_.root(), dump_.root().string() + "-moved");
  Observed observed;
  RunResources resources{1, 1, 1, 1, {}};
  const RunResult result = merge_shards(shards, "merged", false, observed.observer(), resources).result;
  EXPECT_TRUE(observed.warnings.empty());
  for (const ResultTable& table : result_tables()) {
    EXPECT_EQ(table_text(table.id, result.results, config(), result.without_group),
              table_text(table.id, whole.results, config(), whole.without_group));
  }
  EXPECT_EQ(result.model_without_group.overall, whole.model_without_group.overall);
  EXPECT_EQ(resources.cpu_s, 7);
  EXPECT_EQ(resources.shards.size(), 2U);
}

TEST_F(MergedShards, MissingDoubledAndForeignOnesAreRefused) {
  const fs::path first = write(1, 2, "a", config());
  const fs::path second = write(2, 2, "b", config());
  const fs::path twice = write(1, 2, "c", config());
  const fs::path of_three = write(2, 3, "d", config());
  const fs::path other = write(2, 2, "e", config({{"--seed", "5"}}));
  EXPECT_EQ(merge_message({first, second}), "no error");
  EXPECT_EQ(merge_message({first}), "a shard is missing: 2/2");
  EXPECT_EQ(merge_message({of_three}), "shards are missing: 1/3, 3/3");
  EXPECT_NE(merge_message({first, second, twice}).find("this is shard 1/2, and so is "), std::string::npos);
  EXPECT_NE(merge_message({first, of_three}).find("they are of different runs"), std::string::npos);
  EXPECT_NE(merge_message({first, other}).find("`seed` was 0 and is 5"), std::string::npos);
  EXPECT_NE(merge_message({first, dump_.root()}).find("there is no shard.json in this folder"), std::string::npos);
  EXPECT_EQ(merge_message({}), "there are no shards to merge");
}

TEST_F(MergedShards, DamageIsFound) {
  const fs::path folder = write(1, 1, "a", config());
  std::string bytes = read_text(folder / "heads" / "l00h01.head");
  bytes[bytes.size() / 2] ^= 1;
  write_text(folder / "heads" / "l00h01.head", bytes);
  EXPECT_NE(merge_message({folder}).find("holds 7 of 8 heads that can be read"), std::string::npos);
}

// A shard comes from another machine, and perhaps from another person.
TEST_F(MergedShards, DecideNoPathThatIsWritten) {
  const fs::path victim = dump_.root() / "victim.txt";
  write_text(victim, "precious");
  const fs::path folder = write(1, 1, "a", config());
  const fs::path manifest = folder / "heads" / "manifest.json";
  std::string text = read_text(manifest);
  const std::string key = "\"time_csv\": ";
  const std::size_t at = text.find(key) + key.size();
  text.replace(at, text.find('\n', at) - at, "\"" + victim.string() + "\",");
  write_text(manifest, text);
  const RunConfig config = merged({folder}).config;
  for (const ResultTable& table : result_tables()) {
    EXPECT_EQ(fs::path(config.tables[table.id]).parent_path(), "merged") << config.tables[table.id];
  }
}

TEST_F(MergedShards, OtherProgramsAndInstructionSetsAreTold) {
  const fs::path first = write(1, 2, "a", config());
  const fs::path second = write(2, 2, "b", config());
  const fs::path manifest = second / "heads" / "manifest.json";
  std::string text = read_text(manifest);
  const std::string old = "\"simd\": \"" + recorded_simd(text, "") + "\"";
  text.replace(text.find(old), old.size(), "\"simd\": \"other\"");
  write_text(manifest, text);
  Observed observed;
  merged({first, second}, observed.observer());
  ASSERT_EQ(observed.warnings.size(), 1U);
  EXPECT_NE(observed.warnings[0].find("different instruction sets"), std::string::npos);
  for (const fs::path& folder : {first, second}) {
    std::string changed = read_text(folder / "heads" / "manifest.json");
    const std::size_t at = changed.find("\"version\": \"") + 12;
    changed.insert(at, "9.");
    write_text(folder / "heads" / "manifest.json", changed);
  }
  EXPECT_NE(
      merge_message({first, second}).find("was measured by another program than this: the program's version was 9."),
      std::string::npos);
}

TEST_F(MergedShards, OfHeadsWithOtherDocumentsGiveTheResultsOfOneRun) {
  dump_.write(Side::query, 1, 3, small_rows(3, {0, 1, 2, 3, 4, 5, 6, 7}));
  const RunResult whole = run_of(config());
  const RunResult result = merged({write(1, 2, "a", config()), write(2, 2, "b", config())}).result;
  EXPECT_EQ(result.model_without_group.overall, whole.model_without_group.overall);
  EXPECT_EQ(result.examples, whole.examples);
}

TEST_F(MergedShards, OfCopiesOfADumpUnderOtherNamesAreOneRun) {
  const fs::path copy = dump_.root().parent_path() / "another-name";
  fs::copy(dump_.root(), copy, fs::copy_options::recursive);
  const fs::path first = write(1, 2, "a", config());
  const fs::path second = write(2, 2, "b", config({{"--dataset_local_root", copy.string()}}));
  Observed observed;
  EXPECT_EQ(merged({first, second}, observed.observer()).result.results.size(), 8U);
  ASSERT_EQ(observed.warnings.size(), 1U);
  EXPECT_NE(observed.warnings[0].find("taken for copies of one dump"), std::string::npos);
}

}  // namespace
}  // namespace attention_plasticity
