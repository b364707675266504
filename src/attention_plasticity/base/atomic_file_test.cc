#include "attention_plasticity/base/atomic_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

void write_plainly(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

// The message and the file of the failure.
std::pair<std::string, fs::path> output_failure(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    return {error.what(), error.file()};
  }
  return {"no error", ""};
}

TEST(AtomicFile, LeavesTheOldFileUntilCommit) {
  const TemporaryFolder folder;
  write_plainly(folder / "a", "a long old text");
  AtomicFile file(folder / "a");
  file.append("new");
  EXPECT_EQ(read_text_file(folder / "a"), "a long old text");
  EXPECT_EQ(folder.names().size(), 2U);
  file.commit();
  EXPECT_EQ(read_text_file(folder / "a"), "new");
  EXPECT_EQ(folder.names(), Names{"a"});
}

TEST(AtomicFile, TakesWhatAnotherWriterPutThere) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a");
  EXPECT_EQ(file.temporary().parent_path(), folder.path()) << "a rename is atomic within one file system";
  write_plainly(file.temporary(), "streamed");
  file.commit();
  EXPECT_EQ(read_text_file(folder / "a"), "streamed");
  EXPECT_EQ(folder.names(), Names{"a"});
}

TEST(AtomicFile, IsGoneWhenItIsNotCommitted) {
  const TemporaryFolder folder;
  write_plainly(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.append("new");
    const AtomicFile untouched(folder / "b");
  }
  EXPECT_EQ(read_text_file(folder / "a"), "old");
  EXPECT_EQ(folder.names(), Names{"a"});
}

TEST(AtomicFile, HasATemporaryNameOfItsOwn) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "a");
  AtomicFile second(folder / "a");
  first.append("first");
  second.append("second");
  second.commit();
  first.commit();
  EXPECT_EQ(read_text_file(folder / "a"), "first");
}

TEST(AtomicFile, MovesWithItsContent) {
  const TemporaryFolder folder;
  std::vector<AtomicFile> files;
  for (const char* name : {"a", "b", "c"}) files.emplace_back(folder / name).append(name);
  for (AtomicFile& file : files) file.commit();
  EXPECT_EQ(folder.names(), (Names{"a", "b", "c"}));
  EXPECT_EQ(read_text_file(folder / "b"), "b");
}

TEST(AtomicFile, RefusesATargetThatIsNotARegularFile) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "a");
  EXPECT_EQ(output_failure([&] { AtomicFile file(folder / "a"); }),
            std::pair(std::string("cannot write this file: Is a directory"), folder / "a"));
  fs::create_symlink("/dev/null", folder / "null");
  EXPECT_EQ(output_failure([&] { AtomicFile file(folder / "null"); }).second, folder / "null");
  EXPECT_EQ(folder.names(), (Names{"a", "null"}));
}

TEST(AtomicFile, NamesTheFolderThatCannotBeMade) {
  const TemporaryFolder folder;
  write_plainly(folder / "file", "not a folder");
  EXPECT_EQ(output_failure([&] { AtomicFile file(folder.path() / "file" / "a"); }),
            std::pair(std::string("cannot make this folder: Not a directory"), folder / "file"));
}

TEST(AtomicFile, NamesTheTargetThatCannotBeReplaced) {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "a");
    file.append("new");
    fs::create_directory(folder / "a");
    EXPECT_EQ(output_failure([&] { file.commit(); }),
              std::pair(std::string("cannot replace this file: Is a directory"), folder / "a"));
  }
  EXPECT_EQ(folder.names(), Names{"a"});
}

TEST(AtomicFile, NamesTheTargetThatCannotBeCreated) {
  const TemporaryFolder folder;
  const fs::path target = folder / std::string(300, 'x');
  EXPECT_EQ(output_failure([&] { AtomicFile file(target); }),
            std::pair(std::string("cannot create this file: File name too long"), target));
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  EXPECT_EQ(output_failure([&] { AtomicFile file(folder / "a"); }),
            std::pair(std::string("cannot create this file: Too many levels of symbolic links"), folder / "a"));
}

TEST(AtomicFile, TakesNamesAsLongAsTheFileSystemAllows) {
  const TemporaryFolder folder;
  write_file_atomically(folder / std::string(255, 'x'), "long");
  EXPECT_EQ(read_text_file(folder / std::string(255, 'x')), "long");
}

TEST(AtomicFile, KeepsThePermissionsOfTheFileThatItReplaces) {
  const TemporaryFolder folder;
  for (const int mode : {0600, 0640, 0666, 0755}) {
    write_file_atomically(folder / "a", "old");
    fs::permissions(folder / "a", static_cast<fs::perms>(mode));
    write_file_atomically(folder / "a", "new");
    EXPECT_EQ(fs::status(folder / "a").permissions(), static_cast<fs::perms>(mode)) << mode;
  }
}

TEST(AtomicFile, ReplacesTheFileThatALinkPointsTo) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "far");
  fs::create_symlink("far/one", folder / "a");
  fs::create_symlink(folder.path() / "a", folder / "b");
  write_file_atomically(folder / "b", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "a") && fs::is_symlink(folder / "b"));
  EXPECT_EQ(read_text_file(folder.path() / "far" / "one"), "new");
  EXPECT_EQ(folder.names(), (Names{"a", "b", "far", "far/one"}));
}

TEST(AtomicFile, TakesPiecesOfAnySize) {
  const TemporaryFolder folder;
  std::string all;
  {
    AtomicFile file(folder / "a", Durability::unsynced);
    for (const std::size_t size : {0U, 1U, 700'000U, 700'000U, 3'000'000U, 5U}) {
      const std::string piece(size, static_cast<char>('a' + all.size() % 26));
      file.append(piece);
      all += piece;
    }
    file.commit();
  }
  EXPECT_TRUE(read_text_file(folder / "a") == all);
}

TEST(StaleTemporaryFiles, AreRemovedUnlessTheirWriterLives) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a");
  file.append("alive");
  const Names others{".attention-plasticity-0123456789abcdef.tmp.bak", ".attention-plasticity-0123456789abcde.tmp",
                     ".attention-plasticity-0123456789abcdeX.tmp", ".attention-plasticity-heads", "mine.tmp"};
  for (const std::string& name : others) write_plainly(folder / name, "the user's");
  write_plainly(folder / ".attention-plasticity-0123456789abcdef.tmp", "left by a program that was killed");
  remove_stale_temporary_files(folder.path());
  file.commit();
  Names left = others;
  left.insert("a");
  EXPECT_EQ(folder.names(), left);
  EXPECT_EQ(read_text_file(folder / "a"), "alive");
}

TEST(WriteFileAtomically, WritesEveryByteAndMakesFolders) {
  const TemporaryFolder folder;
  std::string content(3'000'000, 'x');
  content[1] = '\0';
  content[2'999'999] = '\n';
  write_file_atomically(folder.path() / "x" / "y" / "large", content);
  write_file_atomically(folder / "empty", "");
  EXPECT_TRUE(read_text_file(folder.path() / "x" / "y" / "large") == content);
  EXPECT_EQ(read_text_file(folder / "empty"), "");
  EXPECT_EQ(folder.names(), (Names{"empty", "x", "x/y", "x/y/large"}));
}

}  // namespace
}  // namespace attention_plasticity
