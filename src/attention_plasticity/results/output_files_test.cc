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
  OutputFiles output;
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
    OutputFiles output;
    output.stage(folder / "a.csv", "new");
    EXPECT_EQ(failed_file([&] { output.stage(folder / "b.csv", "b"); }), (folder / "b.csv").string());
  }
  EXPECT_EQ(read_text_file(folder / "a.csv"), "old");
  EXPECT_EQ(folder.names(), (Names{"a.csv", "b.csv"}));
}

TEST(CheckWritable, LeavesNothingButTheFolders) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.csv", "old");
  check_writable(folder / "a.csv");
  check_writable(folder.path() / "x" / "b.csv");
  EXPECT_EQ(read_text_file(folder / "a.csv"), "old");
  EXPECT_EQ(folder.names(), (Names{"a.csv", "x"}));
}

TEST(CheckWritable, RefusesWhatCannotBeWritten) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "not a folder");
  fs::create_directory(folder / "a.csv");
  fs::create_symlink("/dev/null", folder / "null");
  EXPECT_EQ(failed_file([&] { check_writable(folder.path() / "file" / "b.csv"); }), (folder / "file").string());
  EXPECT_EQ(failed_file([&] { check_writable(folder / "a.csv"); }), (folder / "a.csv").string());
  EXPECT_EQ(failed_file([&] { check_writable(folder / "null"); }), (folder / "null").string());
  failed_file([&] { check_writable(folder / std::string(300, 'x')); });
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
