// Captures whose output calls fail, or that are killed at one.

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <set>

#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;  // content by path

// All files of a folder; none where it does not exist.
Files files_in(const fs::path& folder) {
  Files files;
  if (!fs::exists(folder)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[entry.path().lexically_relative(folder).string()] = read_bytes(entry.path());
  }
  return files;
}

class CaptureFaults : public ::testing::Test {
 protected:
  static constexpr int documents = 4;

  // A capture into `name`, with a fault at its output call `at` (0: at none).
  Outcome capture(const std::string& name, std::vector<std::string> words = {}, int at = 0, int error = 0,
                  bool lasts = false) {
    fs::remove(log());
    Surroundings surroundings;
    surroundings.folder = here_.path();
    surroundings.program = capture_program();
    surroundings.environment = {
        "LD_PRELOAD=" + output_faults_library(), "AP_FAULT_FOLDER=" + work().string(),
        "AP_FAULT_LOG=" + log().string(),        fmt::format("AP_FAULT_AT={}", at),
        fmt::format("AP_FAULT_ERRNO={}", error), fmt::format("AP_FAULT_LASTS={}", lasts ? 1 : 0)};
    words.insert(words.begin(), {(work() / name).string(), std::to_string(documents)});
    const Outcome outcome = run_program(words, surroundings);
    calls_ = lines_of(read_bytes(log()));
    return outcome;
  }

  void SetUp() override {
    fs::create_directories(work());
    ASSERT_EQ(capture("whole").code, 0);
    whole_ = files_in(work() / "whole");
    EXPECT_GT(calls_.size(), 300U) << "output calls are not counted";
    // All calls but most of those that write the columns of the Parquet files.
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const bool one_of_many = i > 100 && calls_[i] == "write" && calls_[i - 1] == "write" && i % 16 != 0;
      if (!one_of_many) places_.push_back(static_cast<int>(i) + 1);
    }
    EXPECT_EQ(whole_.size(), 16U);
  }

  fs::path work() const { return fs::canonical(here_.path()) / "work"; }
  fs::path log() const { return here_ / "calls"; }

  // Nothing of a capture is left beside the dumps.
  bool is_clean() const {
    for (const std::string& name : names_in(work())) {
      if (name.starts_with('.')) return false;
    }
    return true;
  }

  std::string place(int at) const {
    const auto index = static_cast<std::size_t>(at) - 1;
    return fmt::format("call {} of {}: {}", at, calls_.size(), index < calls_.size() ? calls_[index] : "-");
  }

  const TemporaryFolder here_;
  std::vector<std::string> calls_;
  std::vector<int> places_;  // calls at which captures are ended, from 1
  Files whole_;
};

TEST_F(CaptureFaults, KillAtEveryCallLeavesAWholeDumpOrNoneAndGoesOn) {
  std::set<int> gone_on;
  bool seen_whole = false;
  for (const int at : places_) {
    const Outcome killed = capture("dump", {}, at);
    ASSERT_EQ(killed.signal, SIGKILL) << place(at);
    const std::string where = place(at);
    const Files left = files_in(work() / "dump");
    ASSERT_TRUE(left.empty() || left == whole_) << where;
    seen_whole |= !left.empty();
    const Outcome again = capture("dump");
    ASSERT_EQ(again.code, 0) << where << "\n" << again.err;
    gone_on.insert(std::stoi(first_line(again.out)));
    ASSERT_EQ(files_in(work() / "dump"), whole_) << where;
    ASSERT_TRUE(is_clean()) << where;
    fs::remove_all(work() / "dump");
  }
  EXPECT_TRUE(seen_whole) << "killed between the rename and the end";
  EXPECT_EQ(gone_on, (std::set<int>{0, 1, 2, 3, 4})) << "documents that were there already";
}

TEST_F(CaptureFaults, KillWhileADumpIsReplacedLeavesTheOldOrTheNewOne) {
  const std::vector<std::string> other{"overwrite", "9"};
  ASSERT_EQ(capture("other", other).code, 0);
  const Files changed = files_in(work() / "other");
  ASSERT_NE(changed, whole_);
  std::size_t news = 0;
  ASSERT_EQ(capture("dump").code, 0);
  // From the end of the last document on: the dump is written, put in place, and the old one removed.
  for (const int at : places_) {
    if (at < 110) continue;
    capture("dump", other, at);
    const Files left = files_in(work() / "dump");
    ASSERT_TRUE(left == whole_ || left == changed) << place(at);
    if (left == whole_) continue;
    ++news;
    ASSERT_EQ(capture("dump", other).code, 0) << place(at);
    ASSERT_EQ(files_in(work() / "dump"), changed) << place(at);
    ASSERT_TRUE(is_clean()) << place(at);
    ASSERT_EQ(capture("dump", {"overwrite", "0"}).code, 0);
  }
  EXPECT_GT(news, 0U) << "killed while the old dump was removed";
}

TEST_F(CaptureFaults, FailuresAtEveryCallLeaveAWholeDumpOrNoneAndGoOn) {
  for (const bool lasts : {false, true}) {
    const int error = lasts ? ENOSPC : EIO;
    for (const int at : places_) {
      const Outcome failed = capture("dump", {}, at, error, lasts);
      const std::string where = place(at) + "\n" + failed.err;
      const Files left = files_in(work() / "dump");
      ASSERT_TRUE(left.empty() || left == whole_) << where;
      if (failed.code == 0) {
        ASSERT_EQ(left, whole_) << where;
      } else {
        ASSERT_EQ(failed.code, 6) << where;
        ASSERT_EQ(lines_of(failed.err).size(), 1U) << where;
      }
      const Outcome again = capture("dump");
      ASSERT_EQ(again.code, 0) << where << again.err;
      ASSERT_EQ(files_in(work() / "dump"), whole_) << where;
      ASSERT_TRUE(is_clean()) << where;
      fs::remove_all(work() / "dump");
    }
  }
}

// What a capture holds does not grow with its documents.
TEST_F(CaptureFaults, MemoryIsThatOfFewDocuments) {
  const auto memory = [&](int count) {
    Surroundings surroundings;
    surroundings.folder = here_.path();
    surroundings.program = capture_program();
    const Outcome outcome = run_program(
        {(work() / fmt::format("m{}", count)).string(), std::to_string(count), "keep", "0", "256"}, surroundings);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return std::stod(last_line(outcome.out));
  };
  const double few = memory(60);
  const double many = memory(300);
  EXPECT_LT(many - few, 24 * 1024) << "KiB, of 140 MiB of vectors";
}

}  // namespace
}  // namespace attention_plasticity
