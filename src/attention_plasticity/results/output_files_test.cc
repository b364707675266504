#include "attention_plasticity/results/output_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

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

TEST(OutputFiles, TellTheDigestOfWhatWasWrittenInPieces) {
  const TemporaryFolder folder;
  OutputFiles output;
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
  OutputFiles output;
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

// Stages two tables and a record, and makes the rename of `broken` fail.
std::string broken_commit(const TemporaryFolder& folder, const std::string& broken) {
  for (const char* name : {"a.csv", "b.csv", "gone.csv", "run.json"}) write_file_atomically(folder / name, "old");
  OutputFiles output;
  for (const char* name : {"a.csv", "b.csv", "run.json"}) output.stage(folder / name, "new");
  output.remove(folder / "gone.csv");
  fs::remove(folder / broken);
  fs::create_directory(folder / broken);
  try {
    output.commit();
  } catch (const Error& error) {
    EXPECT_EQ(error.file(), (folder / broken).string());
    return error.what();
  }
  return "";
}

constexpr const char* a_mix = "some files are replaced and some are not, so readers refuse them";

TEST(OutputFiles, RenameTheRecordLast) {
  const TemporaryFolder folder;
  EXPECT_NE(broken_commit(folder, "b.csv").find(a_mix), std::string::npos);
  EXPECT_EQ(read_text_file(folder / "a.csv"), "new");
  EXPECT_EQ(read_text_file(folder / "run.json"), "old");
  EXPECT_EQ(folder.names(), (Names{"a.csv", "b.csv", "gone.csv", "run.json"}));
}

// A run that is killed then still finds the record by which it knows what to remove.
TEST(OutputFiles, RemoveEarlierFilesBeforeTheRecordIsRenamed) {
  const TemporaryFolder folder;
  EXPECT_NE(broken_commit(folder, "run.json").find(a_mix), std::string::npos);
  EXPECT_EQ(folder.names(), (Names{"a.csv", "b.csv", "run.json"}));
}

TEST(OutputFiles, ThatCannotBeginChangeNothing) {
  const TemporaryFolder folder;
  EXPECT_EQ(broken_commit(folder, "a.csv").find(a_mix), std::string::npos);
  EXPECT_EQ(read_text_file(folder / "b.csv"), "old");
  EXPECT_EQ(read_text_file(folder / "run.json"), "old");
}

TEST(OutputFiles, DoNotRemoveWhatTheyStage) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "real");
  fs::create_directory_symlink("real", folder / "out");
  OutputFiles output;
  output.stage(folder.path() / "out" / "a.csv", "a");
  output.stage(folder.path() / "out" / "run.json", "run");
  output.remove(folder.path() / "real" / "a.csv");
  output.commit();
  EXPECT_EQ(read_text_file(folder.path() / "real" / "a.csv"), "a");
}

TEST(OutputFiles, KeepPermissionsAndHaveTheGroupOfASetgidFolder) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.csv", "old");
  fs::permissions(folder / "a.csv", fs::perms::owner_read | fs::perms::owner_write);
  std::vector<gid_t> groups(1024);
  groups.resize(static_cast<std::size_t>(std::max(::getgroups(static_cast<int>(groups.size()), groups.data()), 0)));
  if (::geteuid() == 0) groups.push_back(::getegid() + 1);
  const auto other = std::ranges::find_if(groups, [](gid_t group) { return group != ::getegid(); });
  const bool has_group = other != groups.end() && ::chown(folder.path().c_str(), ::geteuid(), *other) == 0 &&
                         ::chmod(folder.path().c_str(), 02770) == 0;
  OutputFiles output;
  output.stage(folder / "a.csv", "new");
  output.stage(folder / "run.json", "run");
  output.commit();
  EXPECT_EQ(fs::status(folder / "a.csv").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  if (!has_group) GTEST_SKIP() << "no second group for a folder";
  struct stat made{};
  ASSERT_EQ(::stat((folder / "run.json").c_str(), &made), 0);
  EXPECT_EQ(made.st_gid, *other);
}

TEST(OutputFiles, HaveNamesAsLongAsTheFileSystemAllows) {
  const TemporaryFolder folder;
  const fs::path longest = folder / (std::string(251, 'x') + ".csv");
  check_writable(std::vector{longest.string()});
  OutputFiles output;
  output.stage(longest, "a");
  output.stage(partial_name(longest), "b");
  output.remove(partial_name(folder / (std::string(251, 'y') + ".csv")));
  output.stage(folder / "run.json", "run");
  output.commit();
  EXPECT_EQ(read_text_file(partial_name(longest)), "b");
}

TEST(LockOutputs, RemovesTemporaryFilesOfKilledRuns) {
  const TemporaryFolder folder;
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

TEST(PartialName, OfALongNameIsCutAndStaysItsOwn) {
  const auto named = [](const std::string& stem) { return partial_name("out/" + stem + ".csv").filename().string(); };
  EXPECT_EQ(named(std::string(243, 'x')), std::string(243, 'x') + ".partial.csv");
  const std::string cut = named(std::string(244, 'x'));
  EXPECT_EQ(cut.size(), 255U);
  EXPECT_TRUE(cut.starts_with(std::string(234, 'x') + "-") && cut.ends_with(".partial.csv")) << cut;
  EXPECT_NE(cut, named(std::string(245, 'x')));
  std::string umlauts;
  for (int i = 0; i < 125; ++i) umlauts += "ü";
  EXPECT_EQ(named(umlauts).find("ü-"), 232U) << "no half of a character";
  EXPECT_LE(partial_name("x." + std::string(253, 'y')).string().size(), 255U);
}

TEST(PartialName, PutsPartialBeforeTheExtension) {
  EXPECT_EQ(partial_name("head_metrics.csv"), "head_metrics.partial.csv");
  EXPECT_EQ(partial_name("out.d/run.json"), "out.d/run.partial.json");
  EXPECT_EQ(partial_name("out.d/table"), "out.d/table.partial");
  EXPECT_EQ(partial_name("a.b.csv"), "a.b.partial.csv");
}

}  // namespace
}  // namespace attention_plasticity
