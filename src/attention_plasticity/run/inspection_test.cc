#include "attention_plasticity/run/inspection.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

// Two queries and three keys whose figures all differ.
void write_odd_heads(const SmallDump& dump) {
  HeadRows queries;
  queries.width = 3;
  queries.bucket = {7, 2};
  queries.example = {5, 5};
  queries.position = {900.5, 260};
  queries.vectors.resize(6, 0.0F);
  queries.window = 128;
  dump.write(Side::query, 1, 4, queries);
  HeadRows keys;
  keys.width = 3;
  keys.bucket = {3, 3, 1};
  keys.position = {400, 401, 130};
  keys.vectors.resize(9, 0.0F);
  dump.write(Side::key, 1, 2, keys);
}

TEST(Inspection, TellsWhatEachFileHolds) {
  const SmallDump dump(0, 0, 0);
  write_odd_heads(dump);
  const DumpInspection found = inspect_dump(dump.root(), "");
  ASSERT_EQ(found.files.size(), 2U);
  EXPECT_TRUE(found.notes.empty());

  const FileInspection& queries = found.files[0];
  EXPECT_EQ(queries.side, Side::query);
  EXPECT_EQ(queries.head, (HeadNumber{1, 4}));
  EXPECT_EQ(queries.bytes, std::filesystem::file_size(dump.file(Side::query, 1, 4)));
  EXPECT_EQ(queries.error, std::nullopt);
  EXPECT_EQ(queries.rows, 2U);
  EXPECT_EQ(queries.width, 3U);
  EXPECT_EQ(queries.buckets, 2U);
  EXPECT_EQ(queries.first_bucket, 2);
  EXPECT_EQ(queries.last_bucket, 7);
  EXPECT_EQ(queries.first_position, 260);
  EXPECT_EQ(queries.last_position, 900.5);
  EXPECT_EQ(queries.examples, 1U);
  EXPECT_EQ(queries.window, 128);

  const FileInspection& keys = found.files[1];
  EXPECT_EQ(keys.side, Side::key);
  EXPECT_EQ(keys.head, (HeadNumber{1, 2}));
  EXPECT_EQ(keys.rows, 3U);
  EXPECT_EQ(keys.buckets, 2U);
  EXPECT_EQ(keys.examples, std::nullopt);
  EXPECT_EQ(keys.window, std::nullopt);
}

TEST(Inspection, ListsQueriesAndThenKeysByHead) {
  const SmallDump dump(2, 2, 1);
  std::vector<std::string> names;
  for (const FileInspection& file : inspect_dump(dump.root(), "").files) {
    names.push_back(head_folder_name(file.side, file.head));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"l00h00q", "l00h01q", "l01h00q", "l01h01q", "l00h00k", "l01h00k"}));
}

TEST(Inspection, ReportsAFileThatCannotBeReadAndGoesOn) {
  const SmallDump dump(1, 2, 1);
  write_text(dump.file(Side::query, 0, 0), "<html>not found</html>");
  dump.remove(Side::key, 0, 0);
  std::filesystem::create_symlink("gone", dump.file(Side::key, 0, 0));
  const DumpInspection found = inspect_dump(dump.root(), "");
  ASSERT_EQ(found.files.size(), 3U);
  EXPECT_TRUE(found.files[0].error.has_value());
  EXPECT_EQ(found.files[0].bytes, 22U);
  EXPECT_EQ(found.files[0].rows, 0U);
  EXPECT_EQ(found.files[1].error, std::nullopt);
  EXPECT_EQ(found.files[1].rows, 72U);
  EXPECT_TRUE(found.files[2].error.has_value());
  EXPECT_EQ(found.files[2].bytes, 0U);
}

TEST(Inspection, LooksForTheConfigJsonInTheRootTooWhereHeadsLieBelow) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.root().parent_path() / "config.json", R"({"num_hidden_layers": 9})");
  EXPECT_EQ(inspect_dump(dump.root().parent_path(), "dump").model.num_layers, 9);
}

TEST(Inspection, HoldsTheMetadataOfTheDump) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.root() / "_saver_state.json",
             R"({"model_name": "lab", "model_metadata": {"sampling_strategy": "all", "sampling_bucket_size": 64}})");
  write_text(dump.root() / "config.json", R"({"text_config": {"num_hidden_layers": 6, "num_attention_heads": 4}})");
  const DumpInspection found = inspect_dump(dump.root(), "");
  EXPECT_EQ(found.capture.model_name, "lab");
  EXPECT_EQ(found.capture.sampling_strategy, "all");
  EXPECT_EQ(found.capture.bucket_size, 64.0);
  EXPECT_EQ(found.model.num_layers, 6);
  EXPECT_EQ(found.model.num_q_heads, 4);
  EXPECT_EQ(found.model.num_k_heads, std::nullopt);
}

TEST(Inspection, TellsHowLayersTurn) {
  const SmallDump dump(3, 1, 1);
  EXPECT_TRUE(inspect_dump(dump.root(), "").rotation.empty());
  write_text(dump.root() / "config.json",
             R"({"model_type": "llama", "head_dim": 4, "rope_theta": 100.0, "no_rope_layers": [1, 0, 1]})");
  const DumpInspection found = inspect_dump(dump.root(), "");
  ASSERT_EQ(found.rotation.size(), 2U);
  EXPECT_EQ(found.rotation[0].rotation, "default, theta 100, all 4 components, half");
  EXPECT_EQ(found.rotation[0].layers, (std::vector<int>{0, 2}));
  EXPECT_EQ(found.rotation[1].rotation, "none");
  EXPECT_EQ(found.rotation[1].layers, (std::vector<int>{1}));
}

TEST(Inspection, NotesARotationThatCannotBeUsed) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.root() / "config.json", R"({"model_type": "llama", "head_dim": 64, "rope_theta": 100.0})");
  const DumpInspection found = inspect_dump(dump.root(), "");
  EXPECT_TRUE(found.rotation.empty());
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(found.notes[0].find("head_dim 64"), std::string::npos) << found.notes[0];
}

TEST(Inspection, NotesWhatItIgnores) {
  const SmallDump dump(1, 1, 1);
  write_text(dump.root() / "config.json", "not json");
  EXPECT_EQ(inspect_dump(dump.root(), "elsewhere").notes.size(), 2U);
}

TEST(Inspection, RefusesAFolderWithoutHeads) {
  const TemporaryFolder folder;
  try {
    inspect_dump(folder.path(), "");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
  }
}

}  // namespace
}  // namespace attention_plasticity
