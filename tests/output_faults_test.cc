// Runs whose output calls fail, or that are killed at one, or that meet another run in their folder.

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <thread>

#include "attention_plasticity/results/output_files.h"
#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/results/run_json.h"
#include "fault_runs.h"
#include "places.h"
#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// The folder in which an unfinished run keeps its finished heads.
constexpr const char* kept_heads = ".attention-plasticity-heads";

bool is_plain(const fs::path& folder, bool may_keep_heads = false) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (may_keep_heads && entry.path().filename() == kept_heads) continue;
    if (!fs::is_regular_file(entry.symlink_status()) || entry.path().filename().string().starts_with('.')) return false;
  }
  return true;
}

// Heads that cannot be kept are a warning, and the run goes on.
std::vector<std::string> lines_without_warnings(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("warning: "); });
  return lines;
}

/// Two configurations of a run over one dump of 10 heads, whose tables all differ. The first has two tables that the
/// second does not have.
class OutputFaults : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = std::make_unique<TemporaryFolder>();
    write_synthetic_dump(*shared_ / "dump", ten_heads(1));
    for (std::size_t run = 0; run < 2; ++run) {
      const fs::path out = *shared_ / fmt::format("out{}", run);
      Surroundings surroundings;
      surroundings.folder = shared_->path();
      ASSERT_EQ(run_program(words(run, out), surroundings).code, 0);
      tables_[run] = tables_in(out);
    }
    ASSERT_EQ(tables_[0].size(), tables_[1].size() + 2);
    for (const auto& [name, digest] : tables_[1]) ASSERT_NE(digest, tables_[0].at(name)) << name;
  }
  static void TearDownTestSuite() { shared_.reset(); }

  static std::vector<std::string> words(std::size_t run, const fs::path& out) {
    std::vector<std::string> words = analyze_words(
        *shared_ / "dump", {"--quiet", "--max_workers", "1", "--output_dir", out.string(), "--rope", "none"});
    const std::vector<std::string> first{"--seed", "1", "--num_triples", "5"};
    const std::vector<std::string> second{
        "--seed", "2", "--num_triples", "0", "--no-standard_errors", "--max_tokens_per_head", "30"};
    const std::vector<std::string>& own = run == 0 ? first : second;
    words.insert(words.end(), own.begin(), own.end());
    return words;
  }

  fs::path out() const { return here_ / "out"; }

  Surroundings faulty(std::vector<std::string> settings) const {
    Surroundings surroundings;
    surroundings.folder = here_.path();
    surroundings.environment = std::move(settings);
    surroundings.environment.push_back("LD_PRELOAD=" + output_faults_library());
    surroundings.environment.push_back("AP_FAULT_FOLDER=" + out().string());
    surroundings.environment.push_back("AP_FAULT_LOG=" + log().string());
    return surroundings;
  }

  fs::path log() const { return here_ / "calls"; }

  /// Runs with a fault at call `at`, and keeps the names of the calls.
  Outcome run_with_fault(std::size_t run, int at, int error, bool lasts) {
    fs::remove(log());
    Outcome outcome = run_program(words(run, out()),
                                  faulty({fmt::format("AP_FAULT_AT={}", at), fmt::format("AP_FAULT_ERRNO={}", error),
                                          fmt::format("AP_FAULT_LASTS={}", lasts ? 1 : 0)}));
    calls_ = lines_of(read_bytes(log()));
    return outcome;
  }

  /// The run whose results a reader sees. Fails the test when they are a mix, or of none.
  std::size_t shown_run() const {
    const Digests shown = tables_in(out());
    EXPECT_EQ(tables_of_run_json(out()), shown);
    const ResultFiles files(out());
    EXPECT_TRUE(files.left_out().empty()) << files.left_out().front();
    EXPECT_TRUE(files.find(TableId::metrics));
    const std::size_t run = shown == tables_[0] ? 0 : 1;
    EXPECT_EQ(shown, tables_[run]) << "a mix";
    return run;
  }

  /// The most calls of a run that replaces results of the other.
  int count_calls() {
    std::size_t most = 0;
    for (const std::size_t run : {0U, 1U, 0U}) {
      EXPECT_EQ(run_with_fault(run, 0, 0, false).code, 0);
      most = std::max(most, calls_.size());
    }
    EXPECT_GT(most, 100U) << "output calls are not counted";
    return static_cast<int>(most);
  }

  std::string place(int at) const {
    return fmt::format("call {} of {}: {}", at, calls_.size(),
                       static_cast<std::size_t>(at) <= calls_.size() ? calls_[static_cast<std::size_t>(at) - 1] : "-");
  }

  /// Runs with `error` at every call in turn. A run that ends well shows its results and leaves nothing else; one that
  /// fails says why, and its results are in place exactly when it says so. `survives` tells which calls must not fail.
  void fail_at_every_call(int error, bool lasts, const std::function<bool(const std::string&)>& survives) {
    const int all = count_calls();
    std::size_t before = shown_run();
    for (int at = 1; at <= all; ++at) {
      const std::size_t wanted = 1 - before;
      const Outcome outcome = run_with_fault(wanted, at, error, lasts);
      const std::string where = place(at) + "\n" + outcome.err;
      const std::size_t after = shown_run();
      if (calls_.size() < static_cast<std::size_t>(at)) break;
      if (outcome.code == 0) {
        EXPECT_EQ(after, wanted) << where;
        // What could not be removed is left to the next run.
        const std::set<std::string> removals{"unlink", "unlinkat", "rmdir", "remove"};
        EXPECT_TRUE(is_plain(out()) || removals.contains(calls_[static_cast<std::size_t>(at) - 1])) << where;
        EXPECT_TRUE(lines_without_warnings(outcome.err).empty()) << where;
      } else {
        EXPECT_EQ(outcome.code, 6) << where;
        EXPECT_EQ(lines_without_warnings(outcome.err).size(), 1U) << where;
        EXPECT_NE(outcome.err.find(std::generic_category().message(error)), std::string::npos) << where;
        const bool in_place = outcome.err.find("the new results are in place") != std::string::npos;
        EXPECT_EQ(after, in_place ? wanted : before) << where;
        EXPECT_FALSE(static_cast<std::size_t>(at) <= calls_.size() &&
                     survives(calls_[static_cast<std::size_t>(at) - 1]))
            << where;
      }
      before = after;
      if (HasFailure()) return;
    }
    EXPECT_EQ(run_with_fault(1 - before, 0, 0, false).code, 0);
    EXPECT_EQ(shown_run(), 1 - before);
    EXPECT_TRUE(is_plain(out())) << "nothing of the runs that failed is left";
  }

  static inline std::unique_ptr<TemporaryFolder> shared_;
  static inline std::array<Digests, 2> tables_;
  const TemporaryFolder here_;
  std::vector<std::string> calls_;
};

bool nothing(const std::string& /*call*/) { return false; }

TEST_F(OutputFaults, KillAtEveryCallLeavesOldOrNewResults) {
  const int all = count_calls();
  std::size_t before = shown_run();
  std::set<std::size_t> seen;
  for (int at = 1; at <= all; ++at) {
    const std::size_t wanted = 1 - before;
    const Outcome killed = run_with_fault(wanted, at, 0, false);
    if (calls_.size() < static_cast<std::size_t>(at)) break;
    EXPECT_EQ(killed.signal, SIGKILL) << place(at);
    const std::size_t after = shown_run();
    seen.insert(after == wanted ? 1 : 0);
    before = after;
    // What the next run does first.
    const std::vector<std::string> targets{(out() / "run.json").string()};
    EXPECT_NO_THROW(lock_outputs(targets)) << "the lock has ended with its process";
    EXPECT_EQ(shown_run(), after) << place(at);
    EXPECT_TRUE(is_plain(out(), true)) << place(at);
    if (HasFailure()) return;
  }
  EXPECT_EQ(run_with_fault(1 - before, 0, 0, false).code, 0);
  EXPECT_EQ(shown_run(), 1 - before);
  EXPECT_TRUE(is_plain(out()));
  EXPECT_EQ(seen.size(), 2U) << "both old and new results were seen";
}

TEST_F(OutputFaults, DiskErrorAtEveryCallLeavesOldOrNewResults) { fail_at_every_call(EIO, false, nothing); }

TEST_F(OutputFaults, FullDiskFromEveryCallOnLeavesOldOrNewResults) { fail_at_every_call(ENOSPC, true, nothing); }

TEST_F(OutputFaults, QuotaAtEveryCallLeavesOldOrNewResults) { fail_at_every_call(EDQUOT, false, nothing); }

TEST_F(OutputFaults, InterruptedCallsAreMadeAgain) {
  const std::set<std::string> made_again{"open", "write", "fsync", "close", "flock"};
  fail_at_every_call(EINTR, false, [&](const std::string& call) { return made_again.contains(call); });
}

TEST_F(OutputFaults, WithoutLinksFilesAreRenamedAndRunJsonComesLast) {
  const auto start = [&](std::size_t run, const std::string& call, int error, int kill_at) {
    fs::remove(log());
    Outcome outcome =
        run_program(words(run, out()), faulty({"AP_REFUSED=" + call, fmt::format("AP_REFUSED_ERRNO={}", error),
                                               fmt::format("AP_FAULT_AT={}", kill_at), "AP_FAULT_ERRNO=0"}));
    calls_ = lines_of(read_bytes(log()));
    return outcome;
  };
  std::size_t run = 0;
  for (const std::string call : {"link", "symlink"}) {
    for (const int error : {EPERM, EOPNOTSUPP, ENOSYS}) {
      const Outcome outcome = start(run, call, error, 0);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(shown_run(), run);
      EXPECT_TRUE(is_plain(out()));
      run = 1 - run;
    }
  }
  // Killed before each rename and each removal: readers refuse what is not of run.json.
  int refused = 0;
  ASSERT_EQ(start(0, "link", EPERM, 0).code, 0);
  ASSERT_EQ(start(1, "link", EPERM, 0).code, 0);
  const std::vector<std::string> calls = calls_;
  ASSERT_EQ(start(0, "link", EPERM, 0).code, 0);
  for (std::size_t at = 0; at < calls.size() && !HasFailure(); ++at) {
    if (calls[at] != "rename" && calls[at] != "unlink") continue;
    ASSERT_EQ(start(1, "link", EPERM, static_cast<int>(at) + 1).signal, SIGKILL);
    const Digests recorded = tables_of_run_json(out());
    EXPECT_TRUE(recorded == tables_[0] || recorded == tables_[1]);
    const ResultFiles files(out());
    if (tables_in(out()) != recorded) {
      ++refused;
      EXPECT_FALSE(files.left_out().empty());
    }
    ASSERT_EQ(start(0, "link", EPERM, 0).code, 0);
    EXPECT_EQ(shown_run(), 0U);
    EXPECT_TRUE(is_plain(out()));
  }
  EXPECT_GT(refused, 3);
}

TEST_F(OutputFaults, WithoutLocksThereIsAWarning) {
  for (const int error : {EBADF, ENOLCK, ENOSYS}) {
    const Outcome outcome =
        run_program(words(0, out()), faulty({"AP_REFUSED=flock", fmt::format("AP_REFUSED_ERRNO={}", error)}));
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err,
              fmt::format("warning: {}: this file system has no locks; make sure that no other run writes here\n",
                          out().string()));
    EXPECT_EQ(shown_run(), 0U);
    EXPECT_TRUE(is_plain(out()));
  }
}

// A table in another folder cannot be part of one rename. It is renamed first, and run.json comes last.
TEST_F(OutputFaults, WithTablesInSeveralFoldersRunJsonComesLast) {
  const fs::path far = here_ / "out" / "far" / "time.csv";
  const fs::path near = here_ / "out" / "near";
  const auto start = [&](std::size_t run, int at) {
    fs::remove(log());
    std::vector<std::string> arguments = words(run, near);
    arguments.insert(arguments.end(), {"--time_csv", far.string()});
    const Outcome outcome = run_program(arguments, faulty({fmt::format("AP_FAULT_AT={}", at), "AP_FAULT_ERRNO=0"}));
    calls_ = lines_of(read_bytes(log()));
    return outcome;
  };
  const auto digests = [&] {
    Digests shown = tables_in(near);
    shown["time.csv"] = file_sha256(far);
    return shown;
  };
  std::array<Digests, 2> whole;
  for (const std::size_t run : {1U, 0U}) {
    ASSERT_EQ(start(run, 0).code, 0);
    whole[run] = digests();
    ASSERT_EQ(tables_of_run_json(near), whole[run]);
  }
  int mixed = 0;
  bool reached = true;
  for (int at = 1; reached && !HasFailure(); ++at) {
    reached = start(1, at).signal == SIGKILL;
    Digests shown = digests();
    const std::size_t run = tables_of_run_json(near) == whole[1] ? 1 : 0;
    EXPECT_EQ(tables_of_run_json(near), whole[run]);
    if (shown == whole[0] && run == 0) continue;
    if (shown != whole[run]) {
      ++mixed;
      EXPECT_EQ(run, 0U) << "run.json comes last";
      EXPECT_EQ(shown["time.csv"], whole[1]["time.csv"]);
      shown["time.csv"] = whole[0]["time.csv"];
      EXPECT_EQ(shown, whole[0]) << "only the table in the other folder is of another run";
    }
    ASSERT_EQ(start(0, 0).code, 0);
    EXPECT_EQ(digests(), whole[0]);
    EXPECT_TRUE(is_plain(near) && is_plain(far.parent_path())) << place(at);
  }
  EXPECT_GT(mixed, 0);
}

/// Two runs that reach the lock of one folder at the same moment.
class RunsAtOnce : public OutputFaults {
 protected:
  static constexpr const char* unshare = "/usr/bin/unshare";

  /// As in two containers on one disk: both are process 1 of their own namespace, or believe to be where the system
  /// does not allow namespaces.
  RunningProgram start(std::size_t run, const std::string& name, int hold_inside, bool equal_pids) const {
    Surroundings surroundings = faulty({fmt::format("AP_HOLD_AT=2,{}", hold_inside), "AP_HOLD_NAME=" + hold(name)});
    std::vector<std::string> arguments = words(run, out());
    if (equal_pids && has_namespaces()) {
      surroundings.program = unshare;
      arguments.insert(arguments.begin(), {"--pid", "--fork", "--kill-child", built_program()});
    } else if (equal_pids) {
      surroundings.environment.emplace_back("AP_PID=1");
    }
    std::erase_if(surroundings.environment, [](const std::string& text) { return text.starts_with("AP_FAULT_LOG"); });
    return RunningProgram(arguments, surroundings);
  }

  static bool has_namespaces() {
    static const bool allowed = [] {
      if (!fs::exists(unshare)) return false;
      Surroundings surroundings;
      surroundings.folder = "/";
      surroundings.program = unshare;
      return run_program({"--pid", "--fork", "--kill-child", "/bin/true"}, surroundings).code == 0;
    }();
    return allowed;
  }

  std::string hold(const std::string& name) const { return (here_ / name).string(); }
  bool is_held(const std::string& name, int which) const {
    return fs::exists(fmt::format("{}.{}.held", hold(name), which));
  }
  void let_go(const std::string& name, int which) const { std::ofstream(fmt::format("{}.{}.go", hold(name), which)); }

  void clear_holds() const {
    for (const char* name : {"a", "b"}) {
      for (const char* end : {".1.held", ".2.held", ".1.go", ".2.go"}) fs::remove(hold(name) + end);
    }
  }

  static void wait_until(const std::function<bool()>& condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "the programs hang";
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  /// Both wait for each other just before the lock. The one that gets it waits inside, before one more of its calls,
  /// until the other has ended.
  void race(int pair, int hold_inside, bool equal_pids) {
    clear_holds();
    const bool swapped = pair % 2 == 1;
    RunningProgram a = start(swapped ? 1 : 0, "a", hold_inside, equal_pids);
    RunningProgram b = start(swapped ? 0 : 1, "b", hold_inside, equal_pids);
    wait_until([&] { return is_held("a", 1) && is_held("b", 1); });
    if (HasFatalFailure()) return;
    let_go(swapped ? "b" : "a", 1);
    let_go(swapped ? "a" : "b", 1);
    wait_until([&] { return is_held("a", 2) || is_held("b", 2); });
    if (HasFatalFailure()) return;
    const bool a_is_inside = is_held("a", 2);
    const Outcome refused = (a_is_inside ? b : a).finish();
    EXPECT_EQ(refused.code, 6) << refused.err;
    EXPECT_EQ(refused.err,
              fmt::format("attention-plasticity: {}: another run is writing here; wait until it has ended, or choose "
                          "another --output_dir\n",
                          out().string()));
    EXPECT_FALSE(is_held("a", 2) && is_held("b", 2)) << "two runs are inside";
    let_go(a_is_inside ? "a" : "b", 2);
    const Outcome finished = (a_is_inside ? a : b).finish();
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(shown_run(), a_is_inside == swapped ? 1U : 0U);
    EXPECT_TRUE(is_plain(out()));
  }

  void race_in_pairs(bool equal_pids) {
    ASSERT_EQ(run_with_fault(0, 0, 0, false).code, 0);
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (const std::size_t run : {0U, 1U, 1U, 0U}) {
      ASSERT_EQ(run_with_fault(run, 0, 0, false).code, 0);
      ASSERT_GT(calls_.size(), 2U);
      ASSERT_EQ(calls_[1], "flock") << "the second call takes the lock";
      ASSERT_EQ(calls_.back(), "close") << "the last call gives it back";
      fewest = std::min(fewest, calls_.size());
    }
    // A run that is refused makes one more call, the third: it closes the folder.
    const int inside = static_cast<int>(fewest) - 3;
    for (int pair = 0; pair < 150 && !HasFailure(); ++pair) race(pair, 4 + pair % inside, equal_pids);
  }
};

// The first flock of a run is that of the folder.
TEST_F(RunsAtOnce, WhereFoldersCannotBeLockedAHiddenFileIs) {
  ASSERT_EQ(run_with_fault(0, 0, 0, false).code, 0);
  const auto settings = [&](int hold_at) {
    return faulty({"AP_FAULT_AT=2", fmt::format("AP_FAULT_ERRNO={}", EBADF), fmt::format("AP_HOLD_AT={}", hold_at),
                   "AP_HOLD_NAME=" + hold("a")});
  };
  RunningProgram first(words(1, out()), settings(20));
  wait_until([&] { return is_held("a", 1); });
  EXPECT_TRUE(fs::exists(out() / ".attention-plasticity-commit.lock"));
  const Outcome refused = run_program(words(0, out()), settings(0));
  EXPECT_EQ(refused.code, 6);
  EXPECT_NE(refused.err.find("another run is writing here"), std::string::npos) << refused.err;
  let_go("a", 1);
  EXPECT_EQ(first.finish().code, 0);
  EXPECT_EQ(shown_run(), 1U);
  EXPECT_TRUE(is_plain(out()));
}

TEST_F(RunsAtOnce, OneFinishesAndTheOtherIsRefused) { race_in_pairs(false); }

TEST_F(RunsAtOnce, WithEqualProcessIdsToo) { race_in_pairs(true); }

}  // namespace
}  // namespace attention_plasticity
