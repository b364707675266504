#include "attention_plasticity/results/output_files.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

// The file that an Error(output) names.
std::string failed_file(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    return error.file();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(OutputFiles, LeaveOldFilesUntilCommit) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.csv", "old");
  OutputFiles output(folder / "run.json");
  output.stage(folder / "a.csv", "new");
  output.stage(folder / "b.csv", "b");
  EXPECT_EQ(read_text_file(folder / "a.csv"), "old");
  output.commit();
  EXPECT_EQ(read_text_file(folder / "a.csv"), "new");
  EXPECT_EQ(folder.names(), (Names{"a.csv", "b.csv"}));
}

TEST(OutputFiles, AppearTogetherOrNotAtAll) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.csv", "old");
  fs::create_directory(folder / "b.csv");
  {
    OutputFiles output(folder / "run.json");
    output.stage(folder / "a.csv", "new");
    EXPECT_EQ(failed_file([&] { output.stage(folder / "b.csv", "b"); }), (folder / "b.csv").string());
  }
  EXPECT_EQ(read_text_file(folder / "a.csv"), "old");
  EXPECT_EQ(folder.names(), (Names{"a.csv", "b.csv"}));
}

TEST(OutputFiles, TellTheDigestOfWhatWasWrittenInPieces) {
  const TemporaryFolder folder;
  OutputFiles output(folder / "run.json");
  const std::string digest = output.stage(folder / "a.csv", [](const Sink& sink) {
    sink("a");
    sink("");
    sink("bc");
  });
  output.commit();
  EXPECT_EQ(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(read_text_file(folder / "a.csv"), "abc");
}

TEST(OutputFiles, GoWhereTheirTargetsAre) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "out");
  fs::create_directories(folder.path() / "disk");
  fs::create_symlink("../disk/b", folder.path() / "out" / "b.csv");
  write_file_atomically(folder.path() / "disk" / "gone", "old");
  fs::create_symlink("../disk/gone", folder.path() / "out" / "gone.csv");
  OutputFiles output(folder.path() / "out" / "run.json");
  output.stage(folder.path() / "other" / "a.csv", "a");
  output.stage(folder.path() / "out" / "b.csv", "b");
  output.remove(folder.path() / "out" / "gone.csv");
  output.stage(folder.path() / "out" / ".." / "out" / "run.json", "run");
  output.commit();
  EXPECT_EQ(folder.names(),
            (Names{"disk", "disk/b", "other", "other/a.csv", "out", "out/b.csv", "out/gone.csv", "out/run.json"}));
  EXPECT_TRUE(fs::is_symlink(folder.path() / "out" / "b.csv"));
  EXPECT_EQ(read_text_file(folder.path() / "disk" / "b"), "b");
}

TEST(LockOutputs, SettlesAndRemovesTemporaryFiles) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / ".attention-plasticity-commit" / "new");
  fs::create_directories(folder.path() / ".attention-plasticity-heads" / "new");
  write_file_atomically(folder / ".attention-plasticity-0123456789abcdef.tmp", "stale");
  const std::vector<std::string> targets{(folder / "run.json").string()};
  const auto locks = lock_outputs(targets);
  EXPECT_EQ(folder.names(), (Names{".attention-plasticity-heads", ".attention-plasticity-heads/new"}));
  EXPECT_EQ(failed_file([&] { lock_outputs(targets); }), folder.path().string());
}

void check(const fs::path& target) { check_writable(std::vector{target.string()}); }

TEST(CheckWritable, LeavesNothingButTheFolders) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.csv", "old");
  check_writable(std::vector{(folder / "a.csv").string(), (folder.path() / "x" / "b.csv").string()});
  EXPECT_EQ(read_text_file(folder / "a.csv"), "old");
  EXPECT_EQ(folder.names(), (Names{"a.csv", "x"}));
}

TEST(CheckWritable, RefusesWhatCannotBeWritten) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "not a folder");
  fs::create_directory(folder / "a.csv");
  fs::create_symlink("/dev/null", folder / "null");
  EXPECT_EQ(failed_file([&] { check(folder.path() / "file" / "b.csv"); }), (folder / "file").string());
  EXPECT_EQ(failed_file([&] { check(folder / "a.csv"); }), (folder / "a.csv").string());
  EXPECT_EQ(failed_file([&] { check(folder / "null"); }), (folder / "null").string());
  failed_file([&] { check(folder / std::string(300, 'x')); });
  EXPECT_EQ(failed_file([&] { check_writable(std::vector{(folder / "first").string(), (folder / "a.csv").string()}); }),
            (folder / "a.csv").string());
  EXPECT_EQ(folder.names(), (Names{"a.csv", "file", "null"}));
}

TEST(PartialName, PutsPartialBeforeTheExtension) {
  EXPECT_EQ(partial_name("head_metrics.csv"), "head_metrics.partial.csv");
  EXPECT_EQ(partial_name("out.d/run.json"), "out.d/run.partial.json");
  EXPECT_EQ(partial_name("out.d/table"), "out.d/table.partial");
  EXPECT_EQ(partial_name("a.b.csv"), "a.b.partial.csv");
}

}  // namespace
}  // namespace attention_plasticity
