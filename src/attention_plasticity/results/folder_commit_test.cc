#include "attention_plasticity/results/folder_commit.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Texts = std::map<std::string, std::string>;

// What a reader sees in a folder: the names that lead to a file, and its text. Hidden names do not count.
Texts shown_in(const fs::path& folder) {
  Texts texts;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.') && fs::is_regular_file(entry.status())) texts[name] = read_text_file(entry.path());
  }
  return texts;
}

bool is_plain(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!fs::is_regular_file(entry.symlink_status()) || entry.path().filename().string().starts_with('.')) return false;
  }
  return true;
}

void write_plainly(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

void write_old_files(const fs::path& folder) {
  write_plainly(folder / "a.csv", "old a");
  write_plainly(folder / "b.csv", "old b");
  write_plainly(folder / "gone.csv", "old");
  write_plainly(folder / "mine", "of the user");
}

const Texts old_texts{{"a.csv", "old a"}, {"b.csv", "old b"}, {"gone.csv", "old"}, {"mine", "of the user"}};
const Texts new_texts{{"a.csv", "new a"}, {"b.csv", "new b"}, {"c.csv", "new c"}, {"mine", "of the user"}};

void create(FolderCommit& commit, const std::string& name, const std::string& text) {
  FileWriter file = commit.create(name, commit.folder() / name);
  file.append(text);
  file.sync();
}

void stage_new_files(FolderCommit& commit) {
  create(commit, "c.csv", "new c");
  create(commit, "b.csv", "new b");
  create(commit, "a.csv", "new a");
  commit.remove("gone.csv");
  commit.remove("never.csv");
}

TEST(FolderCommit, ChangesAllFilesAndLeavesNothingElse) {
  const TemporaryFolder folder;
  write_old_files(folder.path());
  FolderCommit commit(folder.path());
  stage_new_files(commit);
  EXPECT_EQ(shown_in(folder.path()), old_texts);
  commit.commit();
  EXPECT_EQ(shown_in(folder.path()), new_texts);
  EXPECT_TRUE(is_plain(folder.path()));
}

TEST(FolderCommit, WithoutCommitLeavesTheOldFiles) {
  const TemporaryFolder folder;
  write_old_files(folder.path());
  {
    FolderCommit commit(folder.path());
    stage_new_files(commit);
  }
  EXPECT_EQ(shown_in(folder.path()), old_texts);
  EXPECT_TRUE(is_plain(folder.path()));
}

TEST(FolderCommit, KeepsPermissions) {
  const TemporaryFolder folder;
  write_old_files(folder.path());
  fs::permissions(folder / "a.csv", fs::perms::owner_read | fs::perms::owner_write);
  FolderCommit commit(folder.path());
  stage_new_files(commit);
  commit.commit();
  EXPECT_EQ(fs::status(folder / "a.csv").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// Every call of a commit that changes a name, in order, written down independently of the code. `old_until` is the
// number of calls after which the new files are shown.
struct Calls {
  std::vector<std::function<void(const fs::path&)>> calls;
  std::size_t old_until = 0;
};

Calls calls_of_a_commit() {
  const std::string hidden = ".attention-plasticity-commit";
  Calls all;
  const auto add = [&](std::function<void(const fs::path&)> call) { all.calls.push_back(std::move(call)); };
  const auto make = [&](const std::string& name) { add([=](const fs::path& f) { fs::create_directory(f / name); }); };
  const auto write = [&](const std::string& name, const std::string& text) {
    add([=](const fs::path& f) { write_plainly(f / name, text); });
  };
  const auto hard_link = [&](const std::string& from, const std::string& to) {
    add([=](const fs::path& f) { fs::create_hard_link(f / from, f / to); });
  };
  const auto link = [&](const std::string& text, const std::string& name) {
    add([=](const fs::path& f) { fs::create_symlink(text, f / name); });
  };
  const auto rename = [&](const std::string& from, const std::string& to) {
    add([=](const fs::path& f) { fs::rename(f / from, f / to); });
  };
  const auto remove = [&](const std::string& name) { add([=](const fs::path& f) { fs::remove(f / name); }); };

  make(hidden);
  make(hidden + "/new");
  for (const std::string name : {"a", "b", "c"}) write(hidden + "/new/" + name + ".csv", "new " + name);
  make(hidden + "/old");
  for (const std::string name : {"a.csv", "b.csv", "gone.csv"}) hard_link(name, hidden + "/old/" + name);
  link("old", hidden + "/current");
  for (const std::string name : {"a.csv", "b.csv", "c.csv", "gone.csv"}) {
    link(hidden + "/current/" + name, hidden + "/link");
    rename(hidden + "/link", name);
  }
  link("new", hidden + "/next");
  all.old_until = all.calls.size();
  rename(hidden + "/next", hidden + "/current");
  for (const std::string name : {"a.csv", "b.csv", "c.csv"}) {
    hard_link(hidden + "/new/" + name, hidden + "/plain");
    rename(hidden + "/plain", name);
  }
  remove("gone.csv");
  remove(hidden + "/current");
  for (const std::string name : {"a.csv", "b.csv", "c.csv"}) remove(hidden + "/new/" + name);
  remove(hidden + "/new");
  for (const std::string name : {"a.csv", "b.csv", "gone.csv"}) remove(hidden + "/old/" + name);
  remove(hidden + "/old");
  remove(hidden);
  return all;
}

TEST(FolderCommit, ShowsOldOrNewFilesAfterEveryCallAndCanBeSettled) {
  const Calls all = calls_of_a_commit();
  for (std::size_t done = 0; done <= all.calls.size(); ++done) {
    const TemporaryFolder folder;
    write_old_files(folder.path());
    for (std::size_t i = 0; i < done; ++i) all.calls[i](folder.path());
    const Texts& expected = done <= all.old_until ? old_texts : new_texts;
    EXPECT_EQ(shown_in(folder.path()), expected) << "after " << done << " calls";
    settle(folder.path());
    EXPECT_EQ(shown_in(folder.path()), expected) << "settled after " << done << " calls";
    EXPECT_TRUE(is_plain(folder.path())) << done;

    FolderCommit commit(folder.path());
    stage_new_files(commit);
    commit.commit();
    EXPECT_EQ(shown_in(folder.path()), new_texts) << "committed after " << done << " calls";
    EXPECT_TRUE(is_plain(folder.path())) << done;
  }
}

TEST(Settle, RemovesLinksThatLeadNowhere) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / ".attention-plasticity-commit" / "old");
  fs::create_symlink(".attention-plasticity-commit/current/a.csv", folder / "a.csv");
  fs::create_symlink("elsewhere", folder / "b.csv");
  settle(folder.path());
  EXPECT_EQ(folder.names(), std::set<std::string>{"b.csv"}) << "a link of the user stays";
}

TEST(Settle, RefusesAHiddenNameThatIsNotAFolder) {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  write_plainly(other / "precious", "kept");
  fs::create_directory_symlink(other.path(), folder / ".attention-plasticity-commit");
  EXPECT_THROW(settle(folder.path()), Error);
  EXPECT_EQ(other.names(), std::set<std::string>{"precious"});
}

}  // namespace
}  // namespace attention_plasticity
