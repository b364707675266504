// Progress in a terminal.

#include <algorithm>

#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr const char* clear_line = "\r\x1b[K";

class ProgramTerminal : public ProgramTest {
 protected:
  static Surroundings terminal(std::vector<std::string> environment = {}, int columns = 100) {
    Surroundings surroundings;
    surroundings.terminal_columns = columns;
    surroundings.environment = std::move(environment);
    return surroundings;
  }

  fs::path dump_with_a_broken_head() const {
    fs::copy(dump(), here_ / "broken", fs::copy_options::recursive);
    write_bytes(here_ / "broken" / "l00h01q" / "data.parquet", "nonsense");
    return here_ / "broken";
  }
};

/// The lines that a terminal shows after `text`. The cursor is on the last line.
std::vector<std::string> screen(const std::string& text) {
  std::vector<std::string> lines{""};
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      lines.emplace_back();
      column = 0;
    } else if (text[i] == '\r') {
      column = 0;
    } else if (text.compare(i, 3, "\x1b[K") == 0) {
      lines.back().resize(std::min(column, lines.back().size()));
      i += 2;
    } else {
      if (column < lines.back().size()) lines.back()[column] = text[i];
      if (column == lines.back().size()) lines.back() += text[i];
      ++column;
    }
  }
  return lines;
}

TEST_F(ProgramTerminal, BarIsRedrawnAndCleared) {
  const Outcome outcome = analyze({}, terminal());
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.err.starts_with("\r[")) << outcome.err;
  EXPECT_NE(outcome.err.find("\r[########################################] 8/8 heads, "), std::string::npos);
  EXPECT_NE(outcome.err.find("/s, 0:00 left\x1b[K"), std::string::npos) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with(clear_line)) << outcome.err;
  EXPECT_EQ(screen(outcome.err), std::vector<std::string>{""});
  EXPECT_EQ(outcome.out.find('\r'), std::string::npos);
}

TEST_F(ProgramTerminal, FailureStandsInRedAboveTheBar) {
  const Outcome outcome = run(analyze_words(dump_with_a_broken_head(), {"--max_workers", "1"}), terminal());
  EXPECT_EQ(outcome.code, 1);
  const std::vector<std::string> lines = screen(outcome.err);
  ASSERT_EQ(lines.size(), 2U) << outcome.err;
  EXPECT_TRUE(lines[0].starts_with("\x1b[31m[2/8] layer 0 q_head 1 k_head 0 failed: ")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with("\x1b[0m")) << lines[0];
  EXPECT_EQ(lines[1], "");
  EXPECT_NE(outcome.err.find("] 8/8 heads"), std::string::npos);
}

TEST_F(ProgramTerminal, NoColorKeepsTheBarWithoutColors) {
  const Outcome outcome = run(analyze_words(dump_with_a_broken_head(), {}), terminal({"NO_COLOR=1"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err.find("\x1b[31m"), std::string::npos);
  EXPECT_EQ(outcome.err.find("\x1b[0m"), std::string::npos);
  EXPECT_NE(outcome.err.find("\r["), std::string::npos);
}

TEST_F(ProgramTerminal, EmptyNoColorDoesNotCount) {
  const Outcome outcome = run({"analyze", "--nonsense"}, terminal({"NO_COLOR="}));
  EXPECT_TRUE(outcome.err.starts_with("\x1b[31mattention-plasticity: --nonsense: ")) << outcome.err;
}

TEST_F(ProgramTerminal, NoProgressAndDumbTerminalsGetPlainLines) {
  const Outcome asked = analyze({"--no-progress"}, terminal());
  EXPECT_TRUE(is_plain_text(asked.err)) << asked.err;
  EXPECT_EQ(lines_of(asked.err).size(), 8U);
  const Outcome dumb = analyze({}, terminal({"TERM=dumb"}));
  EXPECT_TRUE(is_plain_text(dumb.err)) << dumb.err;
  EXPECT_EQ(lines_of(dumb.err).size(), 8U);
}

TEST_F(ProgramTerminal, QuietRunLeavesTheTerminalAlone) {
  const Outcome outcome = analyze({"--quiet"}, terminal());
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(ProgramTerminal, BarFitsANarrowTerminal) {
  for (const int columns : {2, 20, 45}) {
    const Outcome outcome = analyze({}, terminal({}, columns));
    EXPECT_EQ(outcome.code, 0);
    for (std::size_t at = outcome.err.find('\r'); at != std::string::npos; at = outcome.err.find('\r', at + 1)) {
      const std::size_t end = outcome.err.find("\x1b[K", at);
      ASSERT_NE(end, std::string::npos);
      EXPECT_LT(end - at - 1, static_cast<std::size_t>(columns)) << outcome.err;
    }
    EXPECT_EQ(screen(outcome.err), std::vector<std::string>{""});
  }
}

TEST_F(ProgramTerminal, SynthDrawsABarOfFilesAndOneOfTruths) {
  const Outcome outcome = run({"synth", "out", "--rows", "20", "--dim", "2", "--truth_pairs", "0"}, terminal());
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.err.starts_with("writing about 34.9 KiB\n")) << outcome.err;
  EXPECT_NE(outcome.err.find("] 12/12 files, "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("] 8/8 truths of heads, "), std::string::npos) << outcome.err;
  EXPECT_EQ(screen(outcome.err), (std::vector<std::string>{"writing about 34.9 KiB", ""}));
}

}  // namespace
}  // namespace attention_plasticity
