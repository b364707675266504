#include "attention_plasticity/figure/gnuplot.h"

#include <gtest/gtest.h>

#include <fstream>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// Shell scripts stand in for gnuplot here; tests/program_plot_test.cc runs gnuplot itself.
class RunGnuplot : public ::testing::Test {
 protected:
  Gnuplot stand_in(const std::string& commands) const {
    const std::filesystem::path file = folder_ / "stand-in";
    std::ofstream(file) << "#!/bin/sh\n" << commands;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return {file, {"KNOWN=yes"}};
  }

  static std::string failure(const Gnuplot& gnuplot) {
    try {
      run_gnuplot(gnuplot, "");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::output);
      return error.what();
    }
    return "none";
  }

  const TemporaryFolder folder_;
};

TEST_F(RunGnuplot, HandsOverTheScriptAndTakesTheImage) {
  const std::string script(300'000, 'x');
  const GnuplotOutput output = run_gnuplot(stand_in("cat; printf '  careful\\n\\n very' >&2\n"), script);
  EXPECT_EQ(output.image, script);
  EXPECT_EQ(output.notes, (std::vector<std::string>{"careful", "very"}));
}

TEST_F(RunGnuplot, LeavesTheUsersSettingsAndEnvironmentAside) {
  EXPECT_EQ(run_gnuplot(stand_in("echo $# $1 $KNOWN $HOME\n"), "").image, "1 --default-settings yes\n");
}

TEST_F(RunGnuplot, ProgramNeedNotReadItsScript) {
  EXPECT_EQ(run_gnuplot(stand_in("echo done\n"), std::string(300'000, 'x')).image, "done\n");
}

TEST_F(RunGnuplot, FailuresCarryItsOwnMessage) {
  EXPECT_EQ(failure(stand_in("printf '\\ngnuplot> plotx\\n   ^\\n   line 0: invalid command\\n\\n' >&2; exit 1\n")),
            "gnuplot failed (exit code 1): line 0: invalid command");
  EXPECT_EQ(failure(stand_in("exit 3\n")), "gnuplot failed (exit code 3): it did not say why");
  EXPECT_EQ(failure(stand_in("kill -9 $$\n")), "gnuplot was ended by signal 9");
}

TEST_F(RunGnuplot, MissingProgramSaysWhatToInstall) {
  EXPECT_EQ(failure({}),
            "figures are drawn by gnuplot, which is not installed; on Debian: apt-get install gnuplot-nox");
  EXPECT_EQ(failure({"/no/such/gnuplot"}), "cannot run /no/such/gnuplot: No such file or directory");
}

}  // namespace
}  // namespace attention_plasticity
