#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attention_plasticity/dump/odd_parquet_testing.h"

namespace attention_plasticity {

/// How a test starts the program.
struct Surroundings {
  std::filesystem::path folder;          ///< the working folder
  std::string program = {};              ///< another program to start; empty: attention-plasticity
  std::vector<std::string> environment;  ///< "NO_COLOR=1"; NO_COLOR is unset and TERM is xterm unless given here
  std::string out;                       ///< a file for standard output; empty: a pipe
  std::string err;                       ///< a file for standard error; empty: a pipe
  int terminal_columns = 0;              ///< > 0: standard error is a terminal of this width
  int output_columns = 0;                ///< > 0: standard output is a terminal of this width
  bool reader_leaves = false;            ///< true: standard output is a pipe whose reading end is closed
};

/// The exit code and the output of the program.
struct Outcome {
  int code = -1;    ///< -1: ended by a signal
  int signal = 0;   ///< the signal that ended it
  std::string out;  ///< standard output
  std::string err;  ///< standard error
};

/// The program while it runs. It is killed when the test ends early. A test fails when the program hangs for a minute.
class RunningProgram {
 public:
  RunningProgram(const std::vector<std::string>& arguments, const Surroundings& surroundings);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  /// Returns once standard error holds `text`, or the program has ended.
  void wait_for(const std::string& text);
  void send(int signal) const;
  Outcome finish();

 private:
  void pump(const std::string& until);

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  Outcome outcome_;
};

/// Starts the program and waits for its end.
Outcome run_program(const std::vector<std::string>& arguments, const Surroundings& surroundings);

/// The lines of a text, without their line breaks.
std::vector<std::string> lines_of(const std::string& text);

/// The first and the last line; empty when the text has no line.
std::string first_line(const std::string& text);
std::string last_line(const std::string& text);

/// The lines that begin with `start`.
std::vector<std::string> lines_starting(const std::string& text, const std::string& start);

/// The names in a folder, sorted.
std::vector<std::string> names_in(const std::filesystem::path& folder);

/// Whether a text has no control characters other than line feeds.
bool is_plain_text(const std::string& text);

/// The arguments of `analyze` for a dump, followed by `others`.
std::vector<std::string> analyze_words(const std::filesystem::path& dump, const std::vector<std::string>& others);

/// A test that runs the program in a folder of its own. The tests of a suite share a dump: 2 layers of 4 query heads
/// and 2 key heads, with 120 rows of 8 components in 4 buckets.
class ProgramTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  static std::filesystem::path dump() { return *shared_ / "dump"; }
  /// Runs the program in here_, unless the surroundings name another folder.
  Outcome run(const std::vector<std::string>& arguments, Surroundings surroundings = {}) const;
  /// Runs `analyze` on the suite's dump, with further flags.
  Outcome analyze(const std::vector<std::string>& flags = {}, const Surroundings& surroundings = {}) const;

  const TemporaryFolder here_;

 private:
  static inline std::unique_ptr<TemporaryFolder> shared_;
};

}  // namespace attention_plasticity
