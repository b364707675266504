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
#include <optional>
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

  /// The run whose results a reader sees; none when readers refuse a table by its digest. Fails the test when a reader
  /// takes tables of both runs, or those of none.
  std::optional<std::size_t> shown_run() const {
    const Digests recorded = tables_of_run_json(out());
    const std::size_t run = recorded == tables_[0] ? 0 : 1;
    EXPECT_EQ(recorded, tables_[run]) << "run.json names tables of both";
    const ResultFiles files(out());
    for (const TableId id : all_tables()) {
      const std::optional<fs::path>& table = files.find(id);
      if (table) {
        EXPECT_EQ(file_sha256(*table), recorded.at(table->filename().string())) << "a mix";
      }
    }
    const bool is_whole = tables_in(out()) == recorded;
    if (!is_whole) {
      EXPECT_FALSE(files.left_out().empty()) << "a mix is taken";
      return std::nullopt;
    }
    EXPECT_TRUE(files.left_out().empty());
    return run;
  }

  /// Goes on with a run that was killed or failed, and ends it well.
  void resume(std::size_t run) {
    std::vector<std::string> arguments = words(run, out());
    arguments.emplace_back("--resume");
    const Outcome outcome = run_program(arguments, faulty({}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(shown_run(), run);
    EXPECT_TRUE(is_plain(out()));
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

  std::size_t kept_heads_in_out() const {
    std::size_t count = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(out() / kept_heads)) {
      count += entry.path().extension() == ".json" ? 0U : 1U;
    }
    return count;
  }

  std::string place(int at) const {
    return fmt::format("call {} of {}: {}", at, calls_.size(),
                       static_cast<std::size_t>(at) <= calls_.size() ? calls_[static_cast<std::size_t>(at) - 1] : "-");
  }

  /// Runs with `error` at every call in turn. A run that ends well shows its results and leaves nothing else. One that
  /// fails says why, and says whether its results are in place, or the earlier ones, or files of both, which `--resume`
  /// turns into its results. `survives` tells which calls must not fail.
  void fail_at_every_call(int error, bool lasts, const std::function<bool(const std::string&)>& survives) {
    const int all = count_calls();
    std::size_t before = shown_run().value();
    int mixed = 0;
    for (int at = 1; at <= all; ++at) {
      const std::size_t wanted = 1 - before;
      const Outcome outcome = run_with_fault(wanted, at, error, lasts);
      const std::string where = place(at) + "\n" + outcome.err;
      const std::optional<std::size_t> after = shown_run();
      if (calls_.size() < static_cast<std::size_t>(at)) break;
      if (outcome.code == 0) {
        EXPECT_EQ(after, wanted) << where;
        // What could not be removed is left to the next run.
        const std::set<std::string> removals{"unlink", "unlinkat", "rmdir", "remove"};
        EXPECT_TRUE(is_plain(out()) || removals.contains(calls_[static_cast<std::size_t>(at) - 1])) << where;
        EXPECT_TRUE(lines_without_warnings(outcome.err).empty()) << where;
        before = wanted;
      } else {
        EXPECT_EQ(outcome.code, 6) << where;
        EXPECT_EQ(lines_without_warnings(outcome.err).size(), 1U) << where;
        EXPECT_NE(outcome.err.find(std::generic_category().message(error)), std::string::npos) << where;
        EXPECT_FALSE(survives(calls_[static_cast<std::size_t>(at) - 1])) << where;
        const bool in_place = outcome.err.find("the new results are in place") != std::string::npos;
        const bool is_mix = outcome.err.find("so readers refuse them") != std::string::npos;
        if (is_mix) {
          ++mixed;
          EXPECT_NE(after, wanted) << where;
          EXPECT_NE(outcome.err.find("go on with --resume"), std::string::npos) << where;
          resume(wanted);
          before = wanted;
        } else {
          EXPECT_EQ(after, in_place ? wanted : before) << where;
          if (in_place) before = wanted;
        }
      }
      if (HasFailure()) return;
    }
    EXPECT_GT(mixed, 3);
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

TEST_F(OutputFaults, KillAtEveryCallLosesNothingAndShowsNoMix) {
  const int all = count_calls();
  std::size_t before = shown_run().value();
  std::map<std::string, int> seen;
  for (int at = 1; at <= all; ++at) {
    const std::size_t wanted = 1 - before;
    const Outcome killed = run_with_fault(wanted, at, 0, false);
    if (calls_.size() < static_cast<std::size_t>(at)) break;
    EXPECT_EQ(killed.signal, SIGKILL) << place(at);
    const std::optional<std::size_t> after = shown_run();
    ++seen[!after ? "mix" : *after == wanted ? "new" : "old"];
    // Names that the next run removes first.
    const std::vector<std::string> targets{(out() / "run.json").string()};
    EXPECT_NO_THROW(lock_outputs(targets)) << "the lock has ended with its process";
    EXPECT_EQ(shown_run(), after) << place(at);
    EXPECT_TRUE(is_plain(out(), true)) << place(at);
    if (!after) {
      EXPECT_EQ(kept_heads_in_out(), 10U) << place(at);
      resume(wanted);
    }
    if (after != before) before = wanted;
    if (HasFailure()) return;
  }
  EXPECT_EQ(run_with_fault(1 - before, 0, 0, false).code, 0);
  EXPECT_EQ(shown_run(), 1 - before);
  EXPECT_TRUE(is_plain(out()));
  EXPECT_GT(seen["old"], 50);
  EXPECT_GT(seen["mix"], 3);
  EXPECT_GT(seen["new"], 1);
}

TEST_F(OutputFaults, MixOfTwoRunsIsRefusedWithTheAdviceToResume) {
  ASSERT_EQ(run_with_fault(0, 0, 0, false).code, 0);
  ASSERT_EQ(run_with_fault(1, 0, 0, false).code, 0);
  const auto rename = std::ranges::find(calls_.rbegin(), calls_.rend(), "rename");
  const int last = static_cast<int>(calls_.rend() - rename);
  ASSERT_EQ(run_with_fault(0, 0, 0, false).code, 0);
  ASSERT_EQ(run_with_fault(1, last, 0, false).signal, SIGKILL);
  Surroundings surroundings;
  surroundings.folder = here_.path();
  const Outcome report = run_program({"report", "out"}, surroundings);
  EXPECT_EQ(report.code, 3);
  EXPECT_EQ(
      lines_of(report.err).back(),
      "attention-plasticity: out/head_metrics.csv: its SHA-256 is not the one in run.json, so it is of another run "
      "or was changed; analyse the dump again with --resume, or move run.json away to use the table alone");
  resume(1);
}

TEST_F(OutputFaults, DiskErrorAtEveryCallShowsNoMix) { fail_at_every_call(EIO, false, nothing); }

TEST_F(OutputFaults, FullDiskFromEveryCallOnShowsNoMix) { fail_at_every_call(ENOSPC, true, nothing); }

TEST_F(OutputFaults, QuotaAtEveryCallShowsNoMix) { fail_at_every_call(EDQUOT, false, nothing); }

TEST_F(OutputFaults, InterruptedCallsAreMadeAgain) {
  const std::set<std::string> made_again{"open", "write", "fsync", "close", "flock"};
  fail_at_every_call(EINTR, false, [&](const std::string& call) { return made_again.contains(call); });
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
  // The renames and removals of the commit are among the last calls.
  ASSERT_EQ(start(1, 0).code, 0);
  const int last = static_cast<int>(calls_.size());
  int mixed = 0;
  for (int at = last - 60; at <= last && !HasFailure(); ++at) {
    ASSERT_EQ(start(0, 0).code, 0);
    EXPECT_EQ(digests(), whole[0]);
    EXPECT_TRUE(is_plain(near) && is_plain(far.parent_path())) << place(at);
    ASSERT_EQ(start(1, at).signal, SIGKILL);
    const std::size_t run = tables_of_run_json(near) == whole[1] ? 1 : 0;
    EXPECT_EQ(tables_of_run_json(near), whole[run]);
    if (digests() == whole[run]) continue;
    ++mixed;
    EXPECT_EQ(run, 0U) << "run.json comes last";
  }
  EXPECT_GT(mixed, 3);
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
  EXPECT_TRUE(fs::exists(out() / ".attention-plasticity.lock"));
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
