#include "attention_plasticity/base/folder_names.h"

#include <gtest/gtest.h>

#include <fstream>

#include "attention_plasticity/base/temporary_folder_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

void make_file(const fs::path& file) { std::ofstream(file) << "x"; }

TEST(FolderNames, AreSortedAndOfEveryKind) {
  const TemporaryFolder folder;
  make_file(folder / "b");
  make_file(folder / ".hidden");
  fs::create_directory(folder / "a");
  fs::create_symlink("nowhere", folder / "c");
  std::error_code error = std::make_error_code(std::errc::io_error);
  EXPECT_EQ(folder_names(folder.path(), error), (std::vector<std::string>{".hidden", "a", "b", "c"}));
  EXPECT_FALSE(error);
}

TEST(FolderNames, SayWhyAFolderCannotBeRead) {
  const TemporaryFolder folder;
  make_file(folder / "file");
  std::error_code error;
  EXPECT_TRUE(folder_names(folder / "missing", error).empty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(folder_names(folder / "file", error).empty());
  EXPECT_EQ(error, std::errc::not_a_directory);
}

TEST(RemoveTree, RemovesEverythingInAFolderAndNothingBehindLinks) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "kept");
  make_file(folder / "kept/file");
  fs::create_directories(folder / "gone/a/b");
  make_file(folder / "gone/a/b/file");
  fs::create_directory_symlink(folder / "kept", folder / "gone/link");
  std::error_code error;
  remove_tree(folder / "gone", error);
  EXPECT_FALSE(error);
  EXPECT_FALSE(fs::exists(folder / "gone"));
  EXPECT_TRUE(fs::exists(folder / "kept/file"));
  remove_tree(folder / "gone", error);
  EXPECT_FALSE(error) << "what is not there is no error";
  remove_tree(folder / "kept/file", error);
  EXPECT_FALSE(error);
  EXPECT_FALSE(fs::exists(folder / "kept/file"));
}

}  // namespace
}  // namespace attention_plasticity
