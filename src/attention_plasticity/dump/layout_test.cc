#include "attention_plasticity/dump/layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/dump/odd_parquet_testing.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

void make_head(const fs::path& folder) {
  fs::create_directories(folder);
  write_bytes(folder / "data.parquet", "x");
}

std::string error_of(const fs::path& at_fault, const fs::path& root, const std::string& model_dir) {
  return input_error(at_fault, [&] { find_heads(root, model_dir); });
}

TEST(Layout, NamesHeadsWithAtLeastTwoDigits) {
  EXPECT_EQ(head_folder_name(Side::query, {0, 7}), "l00h07q");
  EXPECT_EQ(head_folder_name(Side::key, {123, 45}), "l123h45k");
}

TEST(Layout, FindsQueriesAndKeysInTheRoot) {
  const TemporaryFolder root;
  for (const char* name : {"l00h00q", "l00h01q", "l117h100q", "l00h00k"}) make_head(root / name);
  const DumpLayout layout = find_heads(root.path(), "");
  EXPECT_EQ(layout.folder, root.path());
  EXPECT_FALSE(layout.note);
  EXPECT_EQ(layout.queries, (std::set<HeadNumber>{{0, 0}, {0, 1}, {117, 100}}));
  EXPECT_EQ(layout.keys, (std::set<HeadNumber>{{0, 0}}));
  EXPECT_EQ(layout.file(Side::query, {117, 100}), root / "l117h100q" / "data.parquet");
  EXPECT_EQ(layout.file(Side::key, {3, 1}), root / "l03h01k" / "data.parquet");
}

TEST(Layout, IgnoresWhatIsNotNamedExactlyLikeAHead) {
  const TemporaryFolder root;
  make_head(root / "l00h00q");
  for (const char* name : {"l5h00q", "l00h5q", "l00h00", "l00h00v", "l00h00qq", "xl00h00q", "L00h00q", "l-1h00q",
                           "l+1h00q", "l00h00q.bak", "l99999999999h00q", "l 1h00q", "lh00q", "l"}) {
    make_head(root / name);
  }
  write_bytes(root / "l05h05q", "a file, not a folder");
  fs::create_directories(root / "l06h06q");
  const DumpLayout layout = find_heads(root.path(), "");
  EXPECT_EQ(layout.queries, (std::set<HeadNumber>{{0, 0}}));
  EXPECT_TRUE(layout.keys.empty());
}

TEST(Layout, KeepsTheDigitsFoundOnDisk) {
  const TemporaryFolder root;
  make_head(root / "l003h0004q");
  make_head(root / "l03h004q");
  make_head(root / "l001h01k");
  make_head(root / "l01h01k");
  make_head(root / "l0001h01k");
  const DumpLayout layout = find_heads(root.path(), "");
  EXPECT_EQ(layout.file(Side::query, {3, 4}), root / "l003h0004q" / "data.parquet");
  EXPECT_EQ(layout.file(Side::key, {1, 1}), root / "l01h01k" / "data.parquet");
}

TEST(Layout, CountsAHeadWhoseFileIsABrokenLink) {
  const TemporaryFolder root;
  fs::create_directories(root / "l00h00q");
  fs::create_symlink("nowhere", root / "l00h00q" / "data.parquet");
  EXPECT_EQ(find_heads(root.path(), "").queries.size(), 1U);
}

TEST(Layout, FollowsModelDir) {
  const TemporaryFolder root;
  make_head(root / "l00h00q");
  make_head(root / "model" / "l01h01q");
  const DumpLayout layout = find_heads(root.path(), "model");
  EXPECT_EQ(layout.folder, root / "model");
  EXPECT_EQ(layout.queries, (std::set<HeadNumber>{{1, 1}}));
  EXPECT_FALSE(layout.note);
}

TEST(Layout, UsesTheRootWithANoteWhereModelDirIsMissing) {
  const TemporaryFolder root;
  make_head(root / "l00h00q");
  const DumpLayout layout = find_heads(root.path(), "model");
  EXPECT_EQ(layout.folder, root.path());
  EXPECT_EQ(layout.note, root.path().string() + " has no folder model, but holds heads itself: these are used");
}

TEST(Layout, SaysWhereThereIsNoFolder) {
  const TemporaryFolder root;
  EXPECT_EQ(error_of(root / "none", root / "none", ""), "there is no such folder; check the path");
  EXPECT_EQ(error_of("~/dump", "~/dump", ""),
            "there is no such folder; ~ is expanded by a shell only, and not between quotes");
  write_bytes(root / "file", "x");
  EXPECT_EQ(error_of(root / "file", root / "file", ""),
            "is not a folder; a dump is a folder that holds l00h00q/data.parquet and so on");
  EXPECT_EQ(error_of(root / "file", root.path(), "file"), error_of(root / "file", root / "file", ""));
}

TEST(Layout, SaysWhatItLookedForWhereThereAreNoHeads) {
  const TemporaryFolder root;
  EXPECT_EQ(error_of(root.path(), root.path(), ""),
            "holds no heads (folders named like l00h00q with a data.parquet); check that this is the folder of a dump");
  EXPECT_EQ(error_of(root.path(), root.path(), "model"),
            "has neither a folder model nor heads (folders named like l00h00q with a data.parquet) of its own; check "
            "that this is "
            "the folder of a dump");
}

TEST(Layout, SuggestsSubFoldersThatHoldHeads) {
  const TemporaryFolder root;
  make_head(root / "b" / "l00h00k");
  EXPECT_TRUE(error_of(root.path(), root.path(), "").ends_with("; its sub-folder b holds heads: pass `model_dir: b`"));
  for (const char* name : {"a", "c", "d", "e", "f"}) make_head(root / name / "l00h00q");
  EXPECT_TRUE(error_of(root.path(), root.path(), "other")
                  .ends_with("; its sub-folders a, b, c, d, e and 1 more hold heads: pass `model_dir: NAME`, such as "
                             "`model_dir: a`"));
}

const std::string left_out =
    " left out: a head is a folder named like l00h00q, with two digits or more for numbers from 0 to 9999, that holds "
    "data.parquet, not compressed";

// The end of the message about a folder that holds only these files.
std::string advice_about(const std::vector<std::string>& files) {
  const TemporaryFolder root;
  for (const std::string& file : files) {
    fs::create_directories((root / file).parent_path());
    write_bytes(root / file, "x");
  }
  const std::string message = error_of(root.path(), root.path(), "");
  EXPECT_THROW(find_heads_among(files, root.path(), ""), Error);
  return message.substr(message.find("; ") + 2);
}

TEST(Layout, SaysWhatIsWrongWithWhatLooksLikeHeads) {
  EXPECT_EQ(advice_about({"l0h0q/data.parquet"}), "l0h0q is" + left_out);
  EXPECT_EQ(advice_about({"l0h0q/data.parquet", "l0h0k/data.parquet", "l10h1q/data.parquet"}),
            "l0h0k and 2 more are" + left_out);
  EXPECT_EQ(advice_about({"l10000h00q/data.parquet", "l00h99999999999k/data.parquet"}),
            "l00h99999999999k and 1 more are" + left_out);
  EXPECT_EQ(advice_about({"l00h00q/data.parquet.gz", "l00h00k/data.parquet.zst"}),
            "l00h00k/data.parquet.zst and 1 more are" + left_out);
  EXPECT_EQ(advice_about({"l00h00q.parquet", "l3h0k.parquet", "notes.txt", "other.parquet"}),
            "l00h00q.parquet and 1 more are" + left_out);
  EXPECT_EQ(advice_about({"train-0.parquet", "train-1.parquet"}), "train-0.parquet and 1 more are" + left_out);
  EXPECT_EQ(advice_about({"a\x1b[31m.parquet"}).find('\x1b'), std::string::npos);
}

// Tables with larger numbers could be written and not be read again.
TEST(Layout, HasNumbersUpToThoseOfTheTables) {
  const TemporaryFolder root;
  make_head(root / "l9999h9999q");
  make_head(root / "l10000h00q");
  const DumpLayout layout = find_heads(root.path(), "");
  EXPECT_EQ(layout.queries, (std::set<HeadNumber>{{9999, 9999}}));
  EXPECT_EQ(layout.warnings, std::vector<std::string>{"l10000h00q is" + left_out});
}

TEST(Layout, WarnsOfHeadsThatAreLeftOut) {
  const TemporaryFolder root;
  make_head(root / "l10h10q");
  EXPECT_EQ(find_heads(root.path(), "").warnings, std::vector<std::string>{});
  make_head(root / "l9h10q");
  write_bytes(root / "l00h00q.parquet", "x");
  write_bytes(root / "other.parquet", "x");
  fs::create_directories(root / "l11h00k");
  write_bytes(root / "l11h00k" / "data.parquet.gz", "x");
  const DumpLayout layout = find_heads(root.path(), "");
  EXPECT_EQ(layout.queries, (std::set<HeadNumber>{{10, 10}}));
  EXPECT_EQ(layout.warnings, std::vector<std::string>{"l00h00q.parquet and 2 more are" + left_out});
}

using Paths = std::vector<std::string>;

TEST(FindHeadsAmong, ListedPathsAreAsGoodAsFolders) {
  const Paths paths{
      "README.md", "l00h00q/data.parquet", "l00h00k/data.parquet", "l00h01q/data.parquet", "l00h02q/other.parquet",
      "l01h00q",   "data.parquet"};
  const DumpLayout layout = find_heads_among(paths, "/snapshot", "");
  EXPECT_EQ(layout.folder, "/snapshot");
  EXPECT_EQ(layout.queries, (std::set<HeadNumber>{{0, 0}, {0, 1}}));
  EXPECT_EQ(layout.keys, (std::set<HeadNumber>{{0, 0}}));
  EXPECT_EQ(layout.file(Side::query, {0, 1}), "/snapshot/l00h01q/data.parquet");
  EXPECT_FALSE(layout.note);
}

TEST(FindHeadsAmong, LooksBelowTheModelFolder) {
  const Paths paths{"l09h00q/data.parquet", "models/qwen/l00h00q/data.parquet", "models/qwen/l00h00k/data.parquet"};
  for (const char* model_dir : {"models/qwen", "models/qwen/"}) {
    const DumpLayout layout = find_heads_among(paths, "/snapshot", model_dir);
    EXPECT_EQ(layout.file(Side::query, {0, 0}), "/snapshot/models/qwen/l00h00q/data.parquet");
    EXPECT_EQ(layout.queries.size(), 1U);
  }
}

TEST(FindHeadsAmong, TakesTheRootWhereThereIsNoSuchFolder) {
  const DumpLayout layout = find_heads_among(Paths{"l00h00q/data.parquet"}, "/snapshot", "qwen");
  EXPECT_EQ(layout.folder, "/snapshot");
  EXPECT_TRUE(layout.note);
}

TEST(FindHeadsAmong, NamesTheFoldersThatHoldHeads) {
  const Paths paths{"README.md", "qwen/l00h00q/data.parquet"};
  try {
    find_heads_among(paths, "/snapshot", "");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("pass `model_dir: qwen`"), std::string::npos) << error.what();
  }
  EXPECT_THROW(find_heads_among(Paths{"README.md"}, "/snapshot", "qwen"), Error);
}

RC_GTEST_PROP(FindHeadsAmong, FindsWhatFindHeadsDoes, ()) {
  const auto names = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "l00h00q", "l00h00k", "l0h1q", "l01h123k", "l001h00q", "x", "m/l00h00q", "m/l02h01k", "m/n/l00h00q", "m/l2h1k"));
  const auto model_dir = *rc::gen::element<std::string>("", "m", "missing");
  const TemporaryFolder folder;
  Paths paths;
  for (const std::string& name : names) {
    std::filesystem::create_directories(folder / name);
    for (const char* file : {"/data.parquet", ".parquet"}) {
      std::ofstream(folder / (name + file)) << "x";
      paths.push_back(name + file);
    }
  }
  const auto found = [](const auto& find) -> std::optional<DumpLayout> {
    try {
      return find();
    } catch (const Error&) {
      return std::nullopt;
    }
  };
  const auto listed = found([&] { return find_heads_among(paths, folder.path(), model_dir); });
  const auto walked = found([&] { return find_heads(folder.path(), model_dir); });
  RC_ASSERT(listed.has_value() == walked.has_value());
  if (!listed || !walked) return;
  RC_ASSERT(listed->folder == walked->folder);
  RC_ASSERT(listed->queries == walked->queries);
  RC_ASSERT(listed->keys == walked->keys);
  RC_ASSERT(listed->unusual_names == walked->unusual_names);
  RC_ASSERT(listed->warnings == walked->warnings);
  RC_ASSERT(listed->note.has_value() == walked->note.has_value());
}

}  // namespace
}  // namespace attention_plasticity
