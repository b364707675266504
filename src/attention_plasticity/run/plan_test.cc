#include "attention_plasticity/run/plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

std::vector<HeadId> heads_of(const RunPlan& plan) {
  std::vector<HeadId> heads;
  heads.reserve(plan.tasks.size());
  for (const HeadTask& task : plan.tasks) heads.push_back(task.head);
  return heads;
}

void expect_grid(const RunPlan& plan, int layers, int q_heads, int k_heads) {
  EXPECT_EQ(plan.grid.num_layers, layers);
  EXPECT_EQ(plan.grid.num_q_heads, q_heads);
  EXPECT_EQ(plan.grid.num_k_heads, k_heads);
}

TEST(Plan, DiscoversTheModelFromTheHeads) {
  const SmallDump dump(2, 4, 2);
  const RunPlan plan = make_plan(dump.config());
  expect_grid(plan, 2, 4, 2);
  EXPECT_EQ(
      heads_of(plan),
      (std::vector<HeadId>{{0, 0, 0}, {0, 1, 0}, {0, 2, 1}, {0, 3, 1}, {1, 0, 0}, {1, 1, 0}, {1, 2, 1}, {1, 3, 1}}));
  EXPECT_EQ(plan.tasks[6].query_file, dump.file(Side::query, 1, 2));
  EXPECT_EQ(plan.tasks[6].key_file, dump.file(Side::key, 1, 1));
  EXPECT_EQ(plan.skipped, 0U);
  EXPECT_EQ(plan.notes, std::vector<std::string>{});
}

TEST(Plan, CountsALayerOfWhichOnlyKeysWereCaptured) {
  const SmallDump dump(1, 2, 1);
  dump.write(Side::key, 2, 0, small_rows(1));
  const RunPlan plan = make_plan(dump.config());
  expect_grid(plan, 3, 2, 1);
  EXPECT_EQ(plan.tasks.size(), 2U);
  EXPECT_EQ(plan.skipped, 4U);
}

TEST(Plan, TakesTheModelFromItsConfigJson) {
  const SmallDump dump(2, 4, 2);
  write_text(dump.root() / "config.json",
             R"({"num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 4})");
  const RunPlan plan = make_plan(dump.config());
  expect_grid(plan, 3, 8, 4);
  EXPECT_EQ(plan.tasks[3].head, (HeadId{0, 3, 1}));
  EXPECT_EQ(plan.skipped, 16U);
}

TEST(Plan, LooksForTheConfigJsonInTheRootTooWhereHeadsLieBelow) {
  const SmallDump dump(2, 4, 2);
  write_text(dump.root() / "config.json", R"({"num_hidden_layers": 3})");
  write_text(dump.root().parent_path() / "config.json", R"({"num_hidden_layers": 9, "num_attention_heads": 8})");
  const RunConfig config =
      dump.config({{"--dataset_local_root", dump.root().parent_path().string()}, {"--model_dir", "dump"}});
  expect_grid(make_plan(config), 3, 8, 2);
}

TEST(Plan, PrefersTheConfigurationToTheConfigJson) {
  const SmallDump dump(2, 4, 2);
  write_text(dump.root() / "config.json",
             R"({"num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 4})");
  expect_grid(make_plan(dump.config({{"--num_layers", "5"}})), 5, 8, 4);
  expect_grid(make_plan(dump.config({{"--num_q_heads", "12"}})), 3, 12, 4);
  expect_grid(make_plan(dump.config({{"--num_k_heads", "1"}})), 3, 8, 1);
}

TEST(Plan, SkipsAndCountsHeadsThatWereNotCaptured) {
  const SmallDump dump(2, 4, 2);
  dump.remove(Side::query, 0, 1);
  dump.remove(Side::query, 1, 3);
  const RunPlan plan = make_plan(dump.config());
  EXPECT_EQ(heads_of(plan), (std::vector<HeadId>{{0, 0, 0}, {0, 2, 1}, {0, 3, 1}, {1, 0, 0}, {1, 1, 0}, {1, 2, 1}}));
  EXPECT_EQ(plan.skipped, 2U);
  EXPECT_EQ(plan.notes, std::vector<std::string>{});
}

TEST(Plan, KeepsToTheSelectionAndCountsOnlyItsGaps) {
  const SmallDump dump(3, 4, 2);
  dump.remove(Side::query, 0, 1);
  dump.remove(Side::query, 2, 0);
  dump.remove(Side::query, 2, 3);
  const RunPlan plan = make_plan(dump.config({{"--layers", "1-2"}, {"--q_heads", "0,2"}}));
  EXPECT_EQ(heads_of(plan), (std::vector<HeadId>{{1, 0, 0}, {1, 2, 1}, {2, 2, 1}}));
  EXPECT_EQ(plan.skipped, 1U);
}

TEST(Plan, KeepsTheTaskOfAHeadWhoseKeysAreMissing) {
  const SmallDump dump(1, 4, 2);
  dump.remove(Side::key, 0, 0);
  EXPECT_EQ(make_plan(dump.config()).tasks.size(), 4U);
}

TEST(Plan, LeavesHeadsOutsideTheGridAloneWithANote) {
  const SmallDump dump(2, 4, 2);
  const RunPlan one = make_plan(dump.config({{"--num_q_heads", "2"}, {"--num_k_heads", "2"}, {"--num_layers", "2"}}));
  EXPECT_EQ(one.tasks.size(), 4U);
  EXPECT_EQ(one.notes,
            std::vector<std::string>{"4 captured query heads lie outside the 2 layers x 2 query heads of the "
                                     "model and are left alone"});
  dump.write(Side::query, 7, 0, small_rows(1));
  EXPECT_EQ(make_plan(dump.config({{"--num_layers", "2"}})).notes,
            std::vector<std::string>{
                "1 captured query head lies outside the 2 layers x 4 query heads of the model and is left alone"});
}

TEST(Plan, DoesNotWalkThroughAGridOfAnySize) {
  const SmallDump dump(1, 2, 1);
  write_text(dump.root() / "config.json", R"({"num_hidden_layers": 2147483647, "num_attention_heads": 2147483647})");
  const RunPlan plan = make_plan(dump.config());
  EXPECT_EQ(plan.tasks.size(), 2U);
  EXPECT_EQ(plan.skipped, std::size_t{2147483647} * 2147483647 - 2);
}

TEST(Plan, LeavesTheLargestIndexThatAFolderCanNameOutsideTheGrid) {
  const SmallDump dump(1, 2, 1);
  dump.write(Side::query, 2147483647, 0, small_rows(1));
  const RunPlan plan = make_plan(dump.config());
  EXPECT_EQ(plan.grid.num_layers, 2147483647);
  EXPECT_EQ(plan.tasks.size(), 2U);
  EXPECT_EQ(plan.notes.size(), 1U);
}

TEST(Plan, RefusesQueryHeadsThatCannotBeSharedOut) {
  const SmallDump dump(1, 5, 2);
  const Refusal refused = refusal(dump.config());
  EXPECT_EQ(refused.kind, ErrorKind::usage);
  EXPECT_EQ(refused.message,
            "5 query heads cannot be shared out evenly over 2 key heads; pass --num_q_heads and --num_k_heads as the "
            "model has them");
}

TEST(Plan, RefusesASelectionOutOfRange) {
  const SmallDump dump(2, 4, 2);
  const Refusal layers = refusal(dump.config({{"--layers", "0-2"}}));
  EXPECT_EQ(layers.kind, ErrorKind::usage);
  EXPECT_EQ(layers.message, "layers: 2 is out of range; the model has 2 layers, 0 to 1");
  const Refusal heads = refusal(dump.config({{"--q_heads", "4"}}));
  EXPECT_EQ(heads.kind, ErrorKind::usage);
  EXPECT_EQ(heads.message, "q_heads: 4 is out of range; the model has 4 query heads, 0 to 3");
}

TEST(Plan, RefusesASelectionOfWhichNothingWasCaptured) {
  const SmallDump dump(2, 2, 1);
  dump.remove(Side::query, 1, 0);
  dump.remove(Side::query, 1, 1);
  const Refusal refused = refusal(dump.config({{"--layers", "1"}}));
  EXPECT_EQ(refused.kind, ErrorKind::input);
  EXPECT_NE(refused.message.find("none of the selected heads was captured"), std::string::npos) << refused.message;
  EXPECT_EQ(refused.file, dump.root().string());
}

TEST(Plan, RefusesADumpWithoutQueriesOrWithoutKeys) {
  const SmallDump keys(1, 0, 1);
  EXPECT_EQ(refusal(keys.config()).kind, ErrorKind::input);
  EXPECT_EQ(refusal(keys.config()).message, "the dump holds keys but no queries");
  const SmallDump queries(1, 1, 0);
  EXPECT_EQ(refusal(queries.config()).kind, ErrorKind::input);
  EXPECT_EQ(refusal(queries.config()).message, "the dump holds queries but no keys");
}

TEST(Plan, RefusesARunWithoutALocalDump) {
  const Refusal refused = refusal(RunConfig{});
  EXPECT_EQ(refused.kind, ErrorKind::usage);
  EXPECT_NE(refused.message.find("--dataset_local_root"), std::string::npos) << refused.message;
}

TEST(Plan, RefusesADumpThatIsNotThere) {
  const SmallDump dump(1, 1, 1);
  const std::string missing = (dump.root() / "missing").string();
  const Refusal refused = refusal(dump.config({{"--dataset_local_root", missing}}));
  EXPECT_EQ(refused.kind, ErrorKind::input);
  EXPECT_EQ(refused.file, missing);
}

TEST(Plan, UsesTheRootInPlaceOfAMissingModelFolderWithANote) {
  const SmallDump dump(1, 1, 1);
  const RunPlan plan = make_plan(dump.config({{"--model_dir", "model"}}));
  EXPECT_EQ(plan.layout.folder, dump.root());
  EXPECT_EQ(plan.notes.size(), 1U);
}

TEST(Plan, NamesTheModelAfterItsCaptureOrItsFolder) {
  const SmallDump dump(1, 1, 1);
  EXPECT_EQ(make_plan(dump.config()).model_name, "dump");
  EXPECT_EQ(make_plan(dump.config({{"--dataset_local_root", dump.root().string() + "/"}})).model_name, "dump");
  EXPECT_EQ(make_plan(dump.config({{"--dataset_local_root", dump.root().string() + "/l00h00q/.."}})).model_name,
            "dump");
  write_text(
      dump.root() / "_saver_state.json",
      R"({"model_name": "lab/model", "model_metadata": {"sampling_strategy": "log", "sampling_min_bucket_size": 32}})");
  const RunPlan plan = make_plan(dump.config());
  EXPECT_EQ(plan.model_name, "lab/model");
  EXPECT_EQ(plan.sampling_strategy, "log");
  EXPECT_EQ(plan.sampling_bucket_size, 32.0);
}

TEST(Plan, NotesMetadataThatCannotBeRead) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.root() / "_saver_state.json", "not json");
  write_text(dump.root() / "config.json", "[]");
  const RunPlan plan = make_plan(dump.config());
  EXPECT_EQ(plan.notes.size(), 2U);
  EXPECT_EQ(plan.sampling_strategy, std::nullopt);
  EXPECT_EQ(plan.sampling_bucket_size, std::nullopt);
}

// 72 rows of 4 components: 40 bytes each as columns, twice, and of queries two times 32 as doubles.
TEST(Plan, EstimatesTheMemoryOfAHead) {
  const SmallDump dump(1, 2, 1);
  write_text(dump.file(Side::query, 0, 1), "not parquet");
  const RunPlan plan = make_plan(dump.config());
  EXPECT_EQ(plan.tasks[0].key_bytes, 72U * 80);
  EXPECT_EQ(plan.tasks[0].query_bytes, 72U * (80 + 64));
  EXPECT_EQ(plan.tasks[1].key_bytes, 72U * 80);
  EXPECT_EQ(plan.tasks[1].query_bytes, 0U);
  const RunPlan part = make_plan(dump.config({{"--max_tokens_per_head", "10"}}));
  EXPECT_EQ(part.tasks[0].key_bytes, 72U * 80 + 10 * 40);
  EXPECT_EQ(part.tasks[0].query_bytes, 72U * 80 + 10 * (40 + 64));
}

TEST(Plan, NotesHeadsThatNeedMoreThanTheMemoryLimit) {
  const SmallDump dump(1, 2, 1);
  const auto notes = [&](const std::string& limit) {
    return make_plan(dump.config({{"--memory_limit", limit}})).notes;
  };
  const std::string needed = std::to_string(72 * (80 + 80 + 64));
  EXPECT_EQ(notes(needed), std::vector<std::string>{});
  EXPECT_EQ(notes("16127"),
            std::vector<std::string>{"2 heads need more memory than the limit of 16127 bytes and run alone"});
  EXPECT_EQ(needed, "16128");
  dump.write(Side::query, 0, 0, small_rows(1, {0}));
  EXPECT_EQ(notes("16127"),
            std::vector<std::string>{"1 head needs more memory than the limit of 16127 bytes and runs alone"});
}

}  // namespace
}  // namespace attention_plasticity
