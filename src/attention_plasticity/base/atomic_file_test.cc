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
  file.write("new");
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
    file.write("new");
    const AtomicFile untouched(folder / "b");
  }
  EXPECT_EQ(read_text_file(folder / "a"), "old");
  EXPECT_EQ(folder.names(), Names{"a"});
}

TEST(AtomicFile, HasATemporaryNameOfItsOwn) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "a");
  AtomicFile second(folder / "a");
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(read_text_file(folder / "a"), "first");
}

TEST(AtomicFile, MovesWithItsContent) {
  const TemporaryFolder folder;
  std::vector<AtomicFile> files;
  for (const char* name : {"a", "b", "c"}) files.emplace_back(folder / name).write(name);
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

TEST(AtomicFile, SaysThatTheDiskIsFull) {
  const TemporaryFolder folder;
  write_plainly(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    fs::create_symlink("/dev/full", file.temporary());
    EXPECT_EQ(output_failure([&] { file.write("new"); }),
              std::pair(std::string("cannot write this file: No space left on device; free some space or choose "
                                    "another folder"),
                        folder / "a"));
  }
  EXPECT_EQ(read_text_file(folder / "a"), "old");
  EXPECT_EQ(folder.names(), Names{"a"});
}

TEST(AtomicFile, NamesTheTargetThatCannotBeReplaced) {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "a");
    file.write("new");
    fs::create_directory(folder / "a");
    EXPECT_EQ(output_failure([&] { file.commit(); }),
              std::pair(std::string("cannot replace this file: Is a directory"), folder / "a"));
  }
  EXPECT_EQ(folder.names(), Names{"a"});
}

TEST(AtomicFile, NamesTheTargetThatCannotBeCreated) {
  const TemporaryFolder folder;
  const fs::path target = folder / std::string(300, 'x');
  AtomicFile file(target);
  const std::pair<std::string, fs::path> failure("cannot create this file: File name too long", target);
  EXPECT_EQ(output_failure([&] { file.write("new"); }), failure);
  EXPECT_EQ(output_failure([&] { file.commit(); }), failure);
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
