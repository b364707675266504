#include "attention_plasticity/results/output_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <set>
#include <string>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

struct Failure {
  std::string message;
  std::string file;
};

Failure output_failure(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    return {error.what(), error.file()};
  }
  ADD_FAILURE() << "no error";
  return {};
}

// Where `stage` writes first. A test that puts something else there relies on this name and fails when it changes.
fs::path temporary_of(const fs::path& target) { return target.string() + "." + std::to_string(::getpid()) + ".tmp"; }

TEST(OutputFiles, LeaveTheOldFileUntilCommit) {
  const TemporaryFolder folder;
  write_text(folder / "a.csv", "old");
  OutputFiles output;
  output.stage(folder / "a.csv", "new");
  EXPECT_EQ(read_text(folder / "a.csv"), "old");
  output.commit();
  EXPECT_EQ(read_text(folder / "a.csv"), "new");
  EXPECT_EQ(folder.names(), Names{"a.csv"});
}

TEST(OutputFiles, WriteEveryByte) {
  const TemporaryFolder folder;
  std::string content(3'000'000, 'x');
  content[1] = '\0';
  content[2'999'999] = '\n';
  OutputFiles output;
  output.stage(folder / "large", content);
  output.stage(folder / "empty", "");
  output.commit();
  EXPECT_TRUE(read_text(folder / "large") == content);
  EXPECT_EQ(read_text(folder / "empty"), "");
}

TEST(OutputFiles, ShortenAFileThatWasLonger) {
  const TemporaryFolder folder;
  write_text(folder / "a.csv", "a long old text");
  OutputFiles output;
  output.stage(folder / "a.csv", "new");
  output.commit();
  EXPECT_EQ(read_text(folder / "a.csv"), "new");
}

TEST(OutputFiles, RemoveWhatWasNotCommitted) {
  const TemporaryFolder folder;
  write_text(folder / "a.csv", "old");
  {
    OutputFiles output;
    output.stage(folder / "a.csv", "new");
    output.stage(folder / "b.csv", "new");
    EXPECT_EQ(folder.names().size(), 3U);
  }
  EXPECT_EQ(read_text(folder / "a.csv"), "old");
  EXPECT_EQ(folder.names(), Names{"a.csv"});
}

TEST(OutputFiles, MakeMissingFolders) {
  const TemporaryFolder folder;
  OutputFiles output;
  output.stage(folder.path() / "x" / "y" / "a.csv", "new");
  output.commit();
  EXPECT_EQ(read_text(folder.path() / "x" / "y" / "a.csv"), "new");
}

TEST(OutputFiles, AppearTogetherOrNotAtAll) {
  const TemporaryFolder folder;
  write_text(folder / "a.csv", "old");
  write_text(folder / "file", "no folder");
  {
    OutputFiles output;
    output.stage(folder / "a.csv", "new");
    const Failure failure = output_failure([&] { output.stage(folder.path() / "file" / "b.csv", "new"); });
    EXPECT_EQ(failure.file, (folder / "file").string());
    EXPECT_NE(failure.message.find("Not a directory"), std::string::npos) << failure.message;
  }
  EXPECT_EQ(read_text(folder / "a.csv"), "old");
  EXPECT_EQ(folder.names(), (Names{"a.csv", "file"}));
}

TEST(OutputFiles, SayThatTheDiskIsFull) {
  const TemporaryFolder folder;
  write_text(folder / "a.csv", "old");
  fs::create_symlink("/dev/full", temporary_of(folder / "a.csv"));
  {
    OutputFiles output;
    const Failure failure = output_failure([&] { output.stage(folder / "a.csv", "new"); });
    EXPECT_EQ(failure.file, (folder / "a.csv").string());
    EXPECT_EQ(failure.message,
              "cannot write this file: No space left on device; free some space or choose another --output_dir");
  }
  EXPECT_EQ(read_text(folder / "a.csv"), "old");
  EXPECT_EQ(folder.names(), Names{"a.csv"});
}

TEST(OutputFiles, RefuseATargetThatIsNoRegularFile) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "a.csv");
  // Renaming onto a device would put a file in its place.
  fs::create_symlink("/dev/null", folder / "null");
  OutputFiles output;
  EXPECT_EQ(output_failure([&] { output.stage(folder / "a.csv", "new"); }).file, (folder / "a.csv").string());
  EXPECT_EQ(output_failure([&] { output.stage(folder / "null", "new"); }).file, (folder / "null").string());
  EXPECT_EQ(folder.names(), (Names{"a.csv", "null"}));
}

TEST(OutputFiles, NameTheFileThatCannotBeReplaced) {
  const TemporaryFolder folder;
  {
    OutputFiles output;
    output.stage(folder / "a.csv", "new");
    fs::create_directory(folder / "a.csv");
    EXPECT_EQ(output_failure([&] { output.commit(); }).file, (folder / "a.csv").string());
  }
  EXPECT_EQ(folder.names(), Names{"a.csv"});
}

TEST(OutputFiles, NameAFileWhoseNameIsTooLong) {
  const TemporaryFolder folder;
  const fs::path target = folder / std::string(300, 'x');
  OutputFiles output;
  const Failure failure = output_failure([&] { output.stage(target, "new"); });
  EXPECT_NE(failure.message.find("File name too long"), std::string::npos) << failure.message;
}

TEST(CheckWritable, LeavesNothingButTheFolders) {
  const TemporaryFolder folder;
  write_text(folder / "a.csv", "old");
  check_writable(folder / "a.csv");
  check_writable(folder.path() / "x" / "b.csv");
  EXPECT_EQ(read_text(folder / "a.csv"), "old");
  EXPECT_EQ(folder.names(), (Names{"a.csv", "x"}));
}

TEST(CheckWritable, RefusesWhatCannotBeWritten) {
  const TemporaryFolder folder;
  write_text(folder / "file", "no folder");
  fs::create_directory(folder / "a.csv");
  fs::create_symlink("/dev/null", folder / "null");
  EXPECT_EQ(output_failure([&] { check_writable(folder.path() / "file" / "b.csv"); }).file, (folder / "file").string());
  EXPECT_EQ(output_failure([&] { check_writable(folder / "a.csv"); }).file, (folder / "a.csv").string());
  EXPECT_EQ(output_failure([&] { check_writable(folder / "null"); }).file, (folder / "null").string());
  output_failure([&] { check_writable(folder / std::string(300, 'x')); });
  EXPECT_EQ(folder.names(), (Names{"a.csv", "file", "null"}));
}

TEST(PartialName, StandsBeforeTheExtension) {
  EXPECT_EQ(partial_name("head_metrics.csv"), "head_metrics.partial.csv");
  EXPECT_EQ(partial_name("out.d/run.json"), "out.d/run.partial.json");
  EXPECT_EQ(partial_name("out.d/table"), "out.d/table.partial");
  EXPECT_EQ(partial_name("a.b.csv"), "a.b.partial.csv");
}

}  // namespace
}  // namespace attention_plasticity
