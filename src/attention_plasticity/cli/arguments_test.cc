#include "attention_plasticity/cli/arguments.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "attention_plasticity/base/error.h"

namespace attention_plasticity {
namespace {

Command command() {
  return {"measure",
          "DUMP",
          "Measure a thing.",
          {{"max_workers", "N", "how many"}, {"output_dir", "FOLDER", "where"}, {"quiet", "", "say little"}}};
}

Arguments parsed(const std::vector<std::string>& words) { return parse_arguments(command(), words); }

std::string refusal(const std::vector<std::string>& words) {
  try {
    parsed(words);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(Arguments, FlagsNotGivenHaveNoValue) {
  const Arguments none = parsed({});
  EXPECT_EQ(none.value("max_workers"), std::nullopt);
  EXPECT_FALSE(none.is_on("quiet"));
  EXPECT_TRUE(none.is_on("quiet", true));
  EXPECT_TRUE(none.flags().empty());
  EXPECT_TRUE(none.positionals().empty());
}

TEST(Arguments, DashesMayStandForUnderscores) {
  for (const std::string flag : {"--max_workers", "--max-workers"}) {
    const Arguments arguments = parsed({flag, "4"});
    EXPECT_EQ(arguments.value("max_workers"), "4");
    EXPECT_EQ(arguments.flags().front().flag, "max_workers");
    EXPECT_EQ(arguments.flags().front().typed, flag);
  }
}

TEST(Arguments, ValueMayHoldDashesAndEqualsSigns) {
  EXPECT_EQ(parsed({"--max_workers", "-1"}).value("max_workers"), "-1");
  EXPECT_EQ(parsed({"--output_dir", "--odd"}).value("output_dir"), "--odd");
  EXPECT_EQ(parsed({"--output_dir=a=b"}).value("output_dir"), "a=b");
  EXPECT_EQ(parsed({"--output_dir="}).value("output_dir"), "");
}

TEST(Arguments, BooleanTakesTheNextWordOnlyIfItIsItsValue) {
  EXPECT_TRUE(parsed({"--quiet"}).is_on("quiet"));
  for (const std::string word : {"true", "yes", "on", "1", "TRUE"})
    EXPECT_TRUE(parsed({"--quiet", word}).is_on("quiet"));
  for (const std::string word : {"false", "no", "off", "0", "Off"}) {
    EXPECT_FALSE(parsed({"--quiet", word}).is_on("quiet", true)) << word;
  }
  EXPECT_TRUE(parsed({"--quiet", "null"}).is_on("quiet", true));
  const Arguments arguments = parsed({"--quiet", "dump"});
  EXPECT_TRUE(arguments.is_on("quiet"));
  EXPECT_EQ(arguments.positionals(), std::vector<std::string>{"dump"});
}

TEST(Arguments, BooleanMayBeNegated) {
  for (const std::string flag : {"--no-quiet", "--no_quiet"}) {
    const Arguments arguments = parsed({flag, "true"});
    EXPECT_FALSE(arguments.is_on("quiet", true));
    EXPECT_EQ(arguments.flags().front().typed, flag);
    EXPECT_EQ(arguments.positionals(), std::vector<std::string>{"true"}) << "a negation takes no value";
  }
  EXPECT_EQ(refusal({"--no-max-workers"}), "--no-max-workers: unknown flag; did you mean --max_workers?");
}

TEST(Arguments, BooleanWithAnotherWordIsRefusedWhenAsked) {
  const Arguments arguments = parsed({"--quiet=perhaps"});
  EXPECT_THROW(arguments.is_on("quiet"), Error);
}

TEST(Arguments, LastOfARepeatedFlagCounts) {
  EXPECT_EQ(parsed({"--max_workers", "1", "--max-workers=2"}).value("max_workers"), "2");
  EXPECT_EQ(parsed({"--max_workers", "1", "--max-workers=null"}).value("max_workers"), std::nullopt);
  EXPECT_FALSE(parsed({"--quiet", "--no-quiet"}).is_on("quiet"));
}

TEST(Arguments, EverythingAfterTwoDashesIsPositional) {
  const Arguments arguments = parsed({"a", "--", "--quiet", "--", "-x"});
  EXPECT_EQ(arguments.positionals(), (std::vector<std::string>{"a", "--quiet", "--", "-x"}));
  EXPECT_FALSE(arguments.is_on("quiet"));
}

TEST(Arguments, LoneDashAndEmptyWordArePositional) {
  EXPECT_EQ(parsed({"-", ""}).positionals(), (std::vector<std::string>{"-", ""}));
}

TEST(Arguments, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(refusal({"--max_wrokers", "1"}), "--max_wrokers: unknown flag; did you mean --max_workers?");
  EXPECT_EQ(refusal({"--frobnicate=1"}),
            "--frobnicate: unknown flag; `attention-plasticity measure --help` lists them all");
  EXPECT_EQ(refusal({"-q"}), "-q: unknown flag; flags begin with --");
  EXPECT_EQ(refusal({"--max-workers"}), "--max-workers: needs a value: N");
}

RC_GTEST_PROP(Arguments, AnyTextComesThroughAsAValue, (const std::string& value)) {
  const auto given = value == "null" ? std::optional<std::string>() : value;
  RC_ASSERT(parsed({"--output_dir", value}).value("output_dir") == given);
  RC_ASSERT(parsed({"--output-dir=" + value}).value("output_dir") == given);
}

RC_GTEST_PROP(Arguments, AnyWordsGiveArgumentsOrAnError, (const std::vector<std::string>& words)) {
  try {
    const Arguments arguments = parsed(words);
    RC_ASSERT(arguments.flags().size() + arguments.positionals().size() <= words.size());
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == ErrorKind::usage);
  }
}

TEST(HelpText, AlignsFlags) {
  EXPECT_EQ(help_text(command()),
            "Usage: attention-plasticity measure DUMP [--flag value]...\n"
            "\n"
            "Measure a thing.\n"
            "\n"
            "Flags:\n"
            "  --max_workers N      how many\n"
            "  --output_dir FOLDER  where\n"
            "  --quiet              say little\n");
}

}  // namespace
}  // namespace attention_plasticity
