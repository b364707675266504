// The manual page and the completion of shells, as a user gets them.

#include <algorithm>

#include "program_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

class ProgramCompletion : public ProgramTest {
 protected:
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() {}

  Outcome run_other(const std::string& program, const std::vector<std::string>& arguments) const {
    Surroundings surroundings;
    surroundings.program = program;
    return run(arguments, surroundings);
  }

  /// What bash offers for the last of these words.
  std::vector<std::string> offered(const std::vector<std::string>& words) const {
    write_bytes(here_ / "completion", run({"completion", "bash"}).out);
    std::string script = "source ./completion\nCOMP_WORDS=(attention-plasticity";
    for (const std::string& word : words) script += " '" + word + "'";
    script +=
        ")\nCOMP_CWORD=" + std::to_string(words.size()) + "\n_attention_plasticity\nprintf '%s\\n' \"${COMPREPLY[@]}\"";
    const Outcome outcome = run_other("/bin/bash", {"-c", script});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err, "");
    std::vector<std::string> lines = lines_of(outcome.out);
    std::ranges::sort(lines);
    return lines;
  }

  /// An installed program of this name.
  static std::string installed(const std::string& name) {
    for (const std::string folder : {"/usr/bin/", "/bin/", "/usr/local/bin/"}) {
      if (fs::exists(folder + name)) return folder + name;
    }
    ADD_FAILURE() << name << " is not installed; `tools/setup.sh test` does that";
    return {};
  }
};

using Words = std::vector<std::string>;

TEST_F(ProgramCompletion, BashOffersSubcommandsAndFlags) {
  EXPECT_EQ(offered({"p"}), (Words{"plan", "plot"}));
  EXPECT_EQ(offered({"help", "in"}), Words{"inspect"});
  EXPECT_EQ(offered({"analyze", "--rope_l"}), Words{"--rope_layout"});
  EXPECT_EQ(offered({"analyze", "--max-w"}), Words{"--max-workers"});
  EXPECT_EQ(offered({"analyze", "--no-s"}), Words{"--no-standard_errors"});
  EXPECT_EQ(offered({"report", "-o"}), Words{"-o"});
}

TEST_F(ProgramCompletion, BashOffersValues) {
  EXPECT_EQ(offered({"analyze", "--method", ""}), (Words{"diagonal", "full", "positional"}));
  EXPECT_EQ(offered({"analyze", "--sliding-window-unit", "t"}), Words{"tokens"});
  EXPECT_EQ(offered({"analyze", "--method", "="}), (Words{"diagonal", "full", "positional"}));  // --method=
  EXPECT_EQ(offered({"analyze", "--method", "=", "d"}), Words{"diagonal"});
  EXPECT_EQ(offered({"analyze", "--max_workers", ""}), Words{""});
  EXPECT_EQ(offered({"plot", "he"}), (Words{"heads", "heatmap"}));
  EXPECT_EQ(offered({"completion", ""}), (Words{"bash", "fish", "zsh"}));
}

TEST_F(ProgramCompletion, BashOffersFiles) {
  write_bytes(here_ / "a run.yaml", "");
  write_bytes(here_ / "a dump", "");
  EXPECT_EQ(offered({"analyze", "--config", "a "}), (Words{"a dump", "a run.yaml"}));
  EXPECT_EQ(offered({"inspect", "a d"}), Words{"a dump"});
  EXPECT_EQ(offered({"analyze", "-o", "a d"}), Words{"a dump"});
  EXPECT_EQ(offered({"download", "a d"}), Words{""});  // a dataset is not on disk
}

TEST_F(ProgramCompletion, ScriptsAreValid) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const Outcome script = run({"completion", shell});
    EXPECT_EQ(script.code, 0);
    write_bytes(here_ / "script", script.out);
    const Outcome checked = run_other(installed(shell), {"-n", (here_ / "script").string()});
    EXPECT_EQ(checked.code, 0) << shell << checked.err;
    EXPECT_EQ(checked.err, "") << shell;
  }
}

TEST_F(ProgramCompletion, FishOffersWhatBashDoes) {
  const std::string fish = installed("fish");
  write_bytes(here_ / "script", run({"completion", "fish"}).out);
  const auto offers = [&](const std::string& typed) {
    const Outcome outcome =
        run_other(fish, {"--no-config", "-c", "source ./script; complete -C 'attention-plasticity " + typed + "'"});
    EXPECT_EQ(outcome.err, "");
    Words words = lines_of(outcome.out);
    for (std::string& word : words) word.resize(std::min(word.find('\t'), word.size()));
    std::ranges::sort(words);
    return words;
  };
  EXPECT_EQ(offers("p"), (Words{"plan", "plot"}));
  EXPECT_EQ(offers("analyze --rope_l"), Words{"--rope_layout"});
  EXPECT_EQ(offers("analyze --method "), (Words{"diagonal", "full", "positional"}));
  EXPECT_EQ(offers("plot he"), (Words{"heads", "heatmap"}));
}

TEST_F(ProgramCompletion, UnknownShellIsAnsweredWithTheNearest) {
  const Outcome outcome = run({"completion", "bahs"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "attention-plasticity: bahs is not one of bash, zsh, fish; did you mean bash?\n");
  EXPECT_EQ(run({"completion"}).err,
            "attention-plasticity: completion takes one shell: attention-plasticity completion bash|zsh|fish\n");
}

TEST_F(ProgramCompletion, ManualNamesEverySubcommandAndFlag) {
  const Outcome manual = run({"man"});
  EXPECT_EQ(manual.code, 0);
  EXPECT_EQ(manual.err, "");
  for (const char* part : {".SS analyze\n", ".SS plot\n", "\\fB\\-\\-max_workers\\fR \\fIN\\fR\n",
                           "\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR\n", ".SH EXAMPLES\n"}) {
    EXPECT_NE(manual.out.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(run({"man", "analyze"}).err, "attention-plasticity: analyze: man takes no arguments\n");
}

TEST_F(ProgramCompletion, ManualHasNoFaultThatGroffKnows) {
  write_bytes(here_ / "manual.1", run({"man"}).out);
  const Outcome checked =
      run_other(installed("groff"), {"-man", "-ww", "-z", "-Kutf8", "-Tutf8", (here_ / "manual.1").string()});
  EXPECT_EQ(checked.code, 0);
  EXPECT_EQ(checked.err, "");
}

}  // namespace
}  // namespace attention_plasticity
