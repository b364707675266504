#include "attention_plasticity/source/prepared_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

std::vector<HeadId> heads_of(const PreparedRun& prepared) {
  std::vector<HeadId> heads;
  heads.reserve(prepared.tasks.size());
  for (const HeadTask& task : prepared.tasks) heads.push_back(task.head);
  return heads;
}

void expect_grid(const PreparedRun& prepared, int layers, int q_heads, int k_heads) {
  EXPECT_EQ(prepared.grid.num_layers, layers);
  EXPECT_EQ(prepared.grid.num_q_heads, q_heads);
  EXPECT_EQ(prepared.grid.num_k_heads, k_heads);
}

TEST(PrepareRun, DiscoversTheModelFromTheHeads) {
  const SmallDump dump(2, 4, 2);
  const PreparedRun prepared = prepare_run(dump.config());
  expect_grid(prepared, 2, 4, 2);
  EXPECT_EQ(
      heads_of(prepared),
      (std::vector<HeadId>{{0, 0, 0}, {0, 1, 0}, {0, 2, 1}, {0, 3, 1}, {1, 0, 0}, {1, 1, 0}, {1, 2, 1}, {1, 3, 1}}));
  EXPECT_EQ(prepared.source->file(queries_of(prepared.tasks[6].head)), dump.file(Side::query, 1, 2));
  EXPECT_EQ(prepared.source->file(keys_of(prepared.tasks[6].head)), dump.file(Side::key, 1, 1));
  EXPECT_EQ(prepared.skipped, 0U);
  EXPECT_EQ(prepared.notes, std::vector<std::string>{});
  EXPECT_EQ(prepared.warnings, std::vector<std::string>{});
}

TEST(PrepareRun, CountsALayerThatHasOnlyKeys) {
  const SmallDump dump(1, 2, 1);
  dump.write(Side::key, 2, 0, small_rows(1));
  const PreparedRun prepared = prepare_run(dump.config());
  expect_grid(prepared, 3, 2, 1);
  EXPECT_EQ(prepared.tasks.size(), 2U);
  EXPECT_EQ(prepared.skipped, 4U);
}

TEST(PrepareRun, TakesTheModelFromItsConfigJson) {
  const SmallDump dump(2, 4, 2);
  write_text(dump.root() / "config.json",
             R"({"num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 4})");
  const PreparedRun prepared = prepare_run(dump.config());
  expect_grid(prepared, 3, 8, 4);
  EXPECT_EQ(prepared.tasks[3].head, (HeadId{0, 3, 1}));
  EXPECT_EQ(prepared.skipped, 16U);
}

TEST(PrepareRun, LooksForTheConfigJsonInTheRootTooWhereHeadsLieBelow) {
  const SmallDump dump(2, 4, 2);
  write_text(dump.root() / "config.json", R"({"num_hidden_layers": 3})");
  write_text(dump.root().parent_path() / "config.json", R"({"num_hidden_layers": 9, "num_attention_heads": 8})");
  const RunConfig config =
      dump.config({{"--dataset_local_root", dump.root().parent_path().string()}, {"--model_dir", "dump"}});
  expect_grid(prepare_run(config), 3, 8, 2);
}

TEST(PrepareRun, RefusesSizesThatContradictTheConfigJson) {
  const SmallDump dump(2, 4, 2);
  const std::string model = (dump.root() / "config.json").string();
  write_text(model, R"({"num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 4})");
  const auto expect_refusal = [&](const char* field, const char* given, const std::string& stated) {
    const std::string flag = std::string("--") + field;
    const Refusal refused = refusal_of(dump.config({{flag, given}}));
    EXPECT_EQ(refused.kind, ErrorKind::usage);
    EXPECT_EQ(refused.message, flag + ": " + given + " contradicts " + stated + " in " + model + "; leave `" + field +
                                   "` out, or correct the one that is wrong");
  };
  expect_refusal("num_layers", "5", "num_hidden_layers 3");
  expect_refusal("num_q_heads", "12", "num_attention_heads 8");
  expect_refusal("num_k_heads", "1", "num_key_value_heads 4");
  expect_grid(prepare_run(dump.config({{"--num_layers", "3"}, {"--num_q_heads", "8"}, {"--num_k_heads", "4"}})), 3, 8,
              4);
  RunConfig config = dump.config();
  config.num_layers = 5;
  EXPECT_TRUE(refusal_of(config).message.starts_with("`num_layers`: 5 contradicts")) << refusal_of(config).message;
}

TEST(PrepareRun, SkipsAndCountsHeadsThatWereNotCaptured) {
  const SmallDump dump(2, 4, 2);
  dump.remove(Side::query, 0, 1);
  dump.remove(Side::query, 1, 3);
  const PreparedRun prepared = prepare_run(dump.config());
  EXPECT_EQ(heads_of(prepared),
            (std::vector<HeadId>{{0, 0, 0}, {0, 2, 1}, {0, 3, 1}, {1, 0, 0}, {1, 1, 0}, {1, 2, 1}}));
  EXPECT_EQ(prepared.skipped, 2U);
  EXPECT_EQ(prepared.notes, std::vector<std::string>{});
  ASSERT_EQ(prepared.warnings.size(), 1U);
  EXPECT_TRUE(prepared.warnings[0].starts_with("4 query heads and 2 key heads of a layer are assumed"));
  EXPECT_TRUE(prepare_run(dump.config({{"--num_q_heads", "4"}, {"--num_k_heads", "2"}})).warnings.empty());
  write_text(dump.root() / "config.json", R"({"num_attention_heads": 4, "num_key_value_heads": 2})");
  EXPECT_TRUE(prepare_run(dump.config()).warnings.empty());
}

TEST(PrepareRun, KeepsToTheSelectionAndCountsOnlyItsGaps) {
  const SmallDump dump(3, 4, 2);
  dump.remove(Side::query, 0, 1);
  dump.remove(Side::query, 2, 0);
  dump.remove(Side::query, 2, 3);
  const PreparedRun prepared = prepare_run(dump.config({{"--layers", "1-2"}, {"--q_heads", "0,2"}}));
  EXPECT_EQ(heads_of(prepared), (std::vector<HeadId>{{1, 0, 0}, {1, 2, 1}, {2, 2, 1}}));
  EXPECT_EQ(prepared.skipped, 1U);
}

TEST(PrepareRun, KeepsTheTaskOfAHeadWhoseKeysAreMissing) {
  const SmallDump dump(1, 4, 2);
  dump.remove(Side::key, 0, 0);
  EXPECT_EQ(prepare_run(dump.config()).tasks.size(), 4U);
}

TEST(PrepareRun, RefusesOneMessageForAllWhenNoKeysWereCaptured) {
  const SmallDump dump(2, 4, 2);
  write_text(dump.root() / "config.json", R"({"num_attention_heads": 4, "num_key_value_heads": 2})");
  dump.remove(Side::key, 0, 0);
  dump.remove(Side::key, 0, 1);
  const Refusal some = refusal_of(dump.config({{"--layers", "0"}}));
  EXPECT_EQ(some.kind, ErrorKind::input);
  EXPECT_EQ(some.message, "none of the key heads that the selected query heads read was captured");
  EXPECT_EQ(prepare_run(dump.config()).tasks.size(), 8U);
  dump.remove(Side::key, 1, 0);
  dump.remove(Side::key, 1, 1);
  EXPECT_EQ(refusal_of(dump.config()).message, "the dump holds queries but no keys");
}

TEST(PrepareRun, RefusesHeadsOutsideTheModel) {
  const SmallDump dump(2, 4, 2);
  const Refusal queries = refusal_of(dump.config({{"--num_q_heads", "2"}}));
  EXPECT_EQ(queries.kind, ErrorKind::usage);
  EXPECT_EQ(queries.message,
            "query head 2 lies outside the model, since --num_q_heads says 2; 4 captured heads do so in all");
  EXPECT_EQ(queries.file, dump.file(Side::query, 0, 2).parent_path().string());
  const Refusal keys = refusal_of(dump.config({{"--num_k_heads", "1"}, {"--layers", "0"}}));
  EXPECT_TRUE(keys.message.starts_with("key head 1 lies outside the model, since --num_k_heads says 1"))
      << keys.message;
  EXPECT_EQ(keys.file, dump.file(Side::key, 0, 1).parent_path().string());
  const std::string model = (dump.root() / "config.json").string();
  write_text(model, R"({"num_hidden_layers": 2, "num_attention_heads": 4})");
  EXPECT_EQ(prepare_run(dump.config()).tasks.size(), 8U);
  dump.write(Side::query, 7, 0, small_rows(1));
  const Refusal layers = refusal_of(dump.config());
  EXPECT_EQ(layers.message, "layer 7 lies outside the model, since " + model + " says num_hidden_layers 2");
  EXPECT_EQ(layers.file, dump.file(Side::query, 7, 0).parent_path().string());
}

TEST(PrepareRun, DoesNotWalkThroughAGridOfAnySize) {
  const SmallDump dump(1, 2, 1);
  write_text(dump.root() / "config.json", R"({"num_hidden_layers": 2147483647, "num_attention_heads": 2147483647})");
  const PreparedRun prepared = prepare_run(dump.config());
  EXPECT_EQ(prepared.tasks.size(), 2U);
  EXPECT_EQ(prepared.skipped, std::size_t{2147483647} * 2147483647 - 2);
}

TEST(PrepareRun, LeavesOutTheLargestIndexThatAFolderCanName) {
  const SmallDump dump(1, 2, 1);
  dump.write(Side::query, 2147483647, 0, small_rows(1));
  const PreparedRun prepared = prepare_run(dump.config());
  EXPECT_EQ(prepared.grid.num_layers, 1);
  EXPECT_EQ(prepared.tasks.size(), 2U);
  EXPECT_NE(std::ranges::find(prepared.warnings,
                              "l2147483647h00q is left out: a head is a folder named like l00h00q, with two digits or "
                              "more for numbers from 0 to 9999, that holds data.parquet, not compressed"),
            prepared.warnings.end());
}

TEST(PrepareRun, RefusesQueryHeadsThatCannotBeDivided) {
  const SmallDump dump(1, 5, 2);
  const Refusal refused = refusal_of(dump.config());
  EXPECT_EQ(refused.kind, ErrorKind::usage);
  EXPECT_EQ(
      refused.message,
      "5 query heads cannot be divided evenly among 2 key heads; pass the model's `num_q_heads` and `num_k_heads`");
}

TEST(PrepareRun, RefusesASelectionOutOfRange) {
  const SmallDump dump(2, 4, 2);
  const Refusal layers = refusal_of(dump.config({{"--layers", "0-2"}}));
  EXPECT_EQ(layers.kind, ErrorKind::usage);
  EXPECT_EQ(layers.message, "`layers`: 2 is out of range; the model has 2 layers, 0 to 1");
  const Refusal heads = refusal_of(dump.config({{"--q_heads", "4"}}));
  EXPECT_EQ(heads.kind, ErrorKind::usage);
  EXPECT_EQ(heads.message, "`q_heads`: 4 is out of range; the model has 4 query heads, 0 to 3");
}

TEST(PrepareRun, RefusesASelectionWithoutCapturedHeads) {
  const SmallDump dump(2, 2, 1);
  dump.remove(Side::query, 1, 0);
  dump.remove(Side::query, 1, 1);
  const Refusal refused = refusal_of(dump.config({{"--layers", "1"}}));
  EXPECT_EQ(refused.kind, ErrorKind::input);
  EXPECT_NE(refused.message.find("none of the selected heads was captured"), std::string::npos) << refused.message;
  EXPECT_EQ(refused.file, dump.root().string());
}

TEST(PrepareRun, RefusesADumpWithoutQueriesOrWithoutKeys) {
  const SmallDump keys(1, 0, 1);
  EXPECT_EQ(refusal_of(keys.config()).kind, ErrorKind::input);
  EXPECT_EQ(refusal_of(keys.config()).message, "the dump holds keys but no queries");
  const SmallDump queries(1, 1, 0);
  EXPECT_EQ(refusal_of(queries.config()).kind, ErrorKind::input);
  EXPECT_EQ(refusal_of(queries.config()).message, "the dump holds queries but no keys");
}

TEST(PrepareRun, RefusesARunWithoutALocalDump) {
  const Refusal refused = refusal_of(RunConfig{});
  EXPECT_EQ(refused.kind, ErrorKind::usage);
  EXPECT_NE(refused.message.find("`dataset_local_root: FOLDER`"), std::string::npos) << refused.message;
}

TEST(PrepareRun, RefusesADumpThatIsNotThere) {
  const SmallDump dump(1, 1, 1);
  const std::string missing = (dump.root() / "missing").string();
  const Refusal refused = refusal_of(dump.config({{"--dataset_local_root", missing}}));
  EXPECT_EQ(refused.kind, ErrorKind::input);
  EXPECT_EQ(refused.file, missing);
}

TEST(PrepareRun, UsesTheRootInPlaceOfAMissingModelFolderWithANote) {
  const SmallDump dump(1, 1, 1);
  const PreparedRun prepared = prepare_run(dump.config({{"--model_dir", "model"}}));
  EXPECT_EQ(prepared.layout.folder, dump.root());
  EXPECT_EQ(prepared.notes.size(), 1U);
}

TEST(PrepareRun, NamesTheModelAfterItsCaptureOrItsFolder) {
  const SmallDump dump(1, 1, 1);
  EXPECT_EQ(prepare_run(dump.config()).model_name, "dump");
  EXPECT_EQ(prepare_run(dump.config({{"--dataset_local_root", dump.root().string() + "/"}})).model_name, "dump");
  EXPECT_EQ(prepare_run(dump.config({{"--dataset_local_root", dump.root().string() + "/l00h00q/.."}})).model_name,
            "dump");
  write_text(
      dump.root() / "_saver_state.json",
      R"({"model_name": "lab/model", "model_metadata": {"sampling_strategy": "log", "sampling_min_bucket_size": 32}})");
  const PreparedRun prepared = prepare_run(dump.config());
  EXPECT_EQ(prepared.model_name, "lab/model");
  EXPECT_EQ(prepared.sampling_strategy, "log");
  EXPECT_EQ(prepared.sampling_bucket_size, 32.0);
}

// DeepSeek's attention, with the up-projection of keys absorbed into the queries: 4 components are 2 of the latent
// vector and 2 that are rotated.
TEST(PrepareRun, TakesAbsorbedLatentAttentionAsOneKeyHead) {
  const SmallDump dump(1, 4, 1);
  const std::string heads = R"({"num_attention_heads": 4, "num_key_value_heads": 4, "qk_nope_head_dim": 6,
                                "qk_rope_head_dim": 2, "kv_lora_rank": )";
  write_text(dump.root() / "config.json", heads + "2}");
  for (const RunConfig& config : {dump.config(), dump.config({{"--num_k_heads", "1"}})}) {
    const PreparedRun prepared = prepare_run(config);
    EXPECT_EQ(prepared.grid.num_k_heads, 1);
    EXPECT_EQ(prepared.model_width, 4);
    EXPECT_EQ(prepared.tasks.size(), 4U);
    EXPECT_TRUE(run_of(config).failures.empty());
  }
  // Keys of another width are what config.json describes, so that three of the four key heads are missing.
  write_text(dump.root() / "config.json", heads + "3}");
  EXPECT_EQ(prepare_run(dump.config()).grid.num_k_heads, 4);
  EXPECT_NE(refusal_of(dump.config({{"--num_k_heads", "1"}})).message.find("contradicts num_key_value_heads 4"),
            std::string::npos);
}

TEST(PrepareRun, NotesMetadataThatCannotBeRead) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.root() / "_saver_state.json", "not json");
  write_text(dump.root() / "config.json", "[]");
  const PreparedRun prepared = prepare_run(dump.config());
  EXPECT_EQ(prepared.notes.size(), 1U);
  EXPECT_EQ(prepared.warnings.size(), 1U);  // without the sizes of the model, heads may be given the wrong keys
  EXPECT_EQ(prepared.sampling_strategy, std::nullopt);
  EXPECT_EQ(prepared.sampling_bucket_size, std::nullopt);
}

// 72 rows of 4 components: two copies of 40 bytes as columns, and for queries two of 32 bytes as doubles.
TEST(PrepareRun, EstimatesTheMemoryOfAHead) {
  const SmallDump dump(1, 2, 1);
  write_text(dump.file(Side::query, 0, 1), "not parquet");
  const PreparedRun prepared = prepare_run(dump.config());
  EXPECT_EQ(prepared.tasks[0].key_bytes, 72U * 80);
  EXPECT_EQ(prepared.tasks[0].query_bytes, 72U * (80 + 64));
  EXPECT_EQ(prepared.tasks[1].key_bytes, 72U * 80);
  EXPECT_EQ(prepared.tasks[1].query_bytes, 0U);
  const PreparedRun part = prepare_run(dump.config({{"--max_tokens_per_head", "10"}}));
  EXPECT_EQ(part.tasks[0].key_bytes, 72U * 80 + 10 * 40);
  EXPECT_EQ(part.tasks[0].query_bytes, 72U * 80 + 10 * (40 + 64));
}

}  // namespace
}  // namespace attention_plasticity
