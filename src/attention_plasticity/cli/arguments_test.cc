#include "attention_plasticity/cli/arguments.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

struct Options {
  int max_workers = 8;
  std::string output_dir;
  bool quiet = false;
};

const FieldTable<Options>& table() {
  static const FieldTable<Options> fields{
      {"max_workers", values::count(), &Options::max_workers, "How many."},
      {"output_dir", values::any_text("FOLDER"), &Options::output_dir, "Where to."},
      {"quiet", values::boolean(), &Options::quiet, "Print little."},
  };
  return fields;
}

Command command() { return {"measure", "DUMP", "Measure a thing.", descriptions(table())}; }

Arguments parsed(const std::vector<std::string>& words) { return parse_arguments(command(), words); }

bool is_quiet(const Arguments& arguments) { return options_of(table(), arguments).quiet; }

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
  EXPECT_TRUE(none.flags.empty());
  EXPECT_TRUE(none.positionals.empty());
}

TEST(Arguments, DashesMayStandForUnderscores) {
  for (const std::string flag : {"--max_workers", "--max-workers"}) {
    const Arguments arguments = parsed({flag, "4"});
    EXPECT_EQ(arguments.value("max_workers"), "4");
    EXPECT_EQ(arguments.flags.front().field, "max_workers");
    EXPECT_EQ(arguments.flags.front().where, flag);
  }
}

TEST(Arguments, ValueMayHoldDashesAndEqualsSigns) {
  EXPECT_EQ(parsed({"--max_workers", "-1"}).value("max_workers"), "-1");
  EXPECT_EQ(parsed({"--output_dir", "--odd"}).value("output_dir"), "--odd");
  EXPECT_EQ(parsed({"--output_dir=a=b"}).value("output_dir"), "a=b");
  EXPECT_EQ(parsed({"--output_dir="}).value("output_dir"), "");
}

TEST(Arguments, BooleanTakesTheNextWordOnlyIfItIsItsValue) {
  EXPECT_TRUE(is_quiet(parsed({"--quiet"})));
  for (const std::string word : {"true", "yes", "on", "1", "TRUE"}) EXPECT_TRUE(is_quiet(parsed({"--quiet", word})));
  for (const std::string word : {"false", "no", "off", "0", "Off"}) {
    EXPECT_FALSE(is_quiet(parsed({"--quiet", word}))) << word;
  }
  EXPECT_FALSE(is_quiet(parsed({"--quiet", "--quiet", "null"})));
  const Arguments arguments = parsed({"--quiet", "dump"});
  EXPECT_TRUE(is_quiet(arguments));
  EXPECT_EQ(arguments.positionals, std::vector<std::string>{"dump"});
}

TEST(Arguments, BooleanMayBeNegated) {
  for (const std::string flag : {"--no-quiet", "--no_quiet"}) {
    const Arguments arguments = parsed({flag, "true"});
    EXPECT_FALSE(is_quiet(arguments));
    EXPECT_EQ(arguments.flags.front().where, flag);
    EXPECT_EQ(arguments.positionals, std::vector<std::string>{"true"}) << "a negation takes no value";
  }
  EXPECT_EQ(refusal({"--no-max-workers"}), "--no-max-workers: unknown flag; did you mean --max_workers?");
}

TEST(OptionsOf, AreThoseOfTheFlags) {
  const Options options = options_of(table(), parsed({"dump", "--max-workers", "3", "--output_dir", "x", "--quiet"}));
  EXPECT_EQ(options.max_workers, 3);
  EXPECT_EQ(options.output_dir, "x");
  EXPECT_TRUE(options.quiet);
  EXPECT_EQ(options_of(table(), parsed({"--max_workers", "3", "--max-workers=null"})).max_workers, 8);
}

TEST(OptionsOf, NamesTheFlagAsTypedWhenItsValueIsRefused) {
  const auto message = [](const std::vector<std::string>& words) -> std::string {
    try {
      options_of(table(), parsed(words));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({"--quiet=perhaps"}), "--quiet: perhaps is not a boolean; write true or false");
  EXPECT_EQ(message({"--max-workers", "x"}), "--max-workers: x is not an integer in plain decimal");
}

TEST(OptionsOf, LeavesFlagsOfOtherTablesAlone) {
  const Arguments arguments{{{"config", "x.yaml", "--config"}, {"max_workers", "2", "--max_workers"}}, {}};
  EXPECT_EQ(options_of(table(), arguments).max_workers, 2);
}

TEST(Arguments, CountsPositionals) {
  EXPECT_EQ(parsed({"a"}).only_positional("takes one"), "a");
  EXPECT_THROW(parsed({}).only_positional("takes one"), Error);
  EXPECT_THROW(parsed({"a", "b"}).only_positional("takes one"), Error);
  EXPECT_NO_THROW(parsed({}).refuse_positionals("takes none"));
  EXPECT_THROW(parsed({"a"}).refuse_positionals("takes none"), Error);
}

TEST(Arguments, LastOfARepeatedFlagCounts) {
  EXPECT_EQ(parsed({"--max_workers", "1", "--max-workers=2"}).value("max_workers"), "2");
  EXPECT_EQ(parsed({"--max_workers", "1", "--max-workers=null"}).value("max_workers"), std::nullopt);
  EXPECT_FALSE(is_quiet(parsed({"--quiet", "--no-quiet"})));
}

TEST(Arguments, EverythingAfterTwoDashesIsPositional) {
  const Arguments arguments = parsed({"a", "--", "--quiet", "--", "-x"});
  EXPECT_EQ(arguments.positionals, (std::vector<std::string>{"a", "--quiet", "--", "-x"}));
  EXPECT_FALSE(is_quiet(arguments));
}

TEST(Arguments, LoneDashAndEmptyWordArePositional) {
  EXPECT_EQ(parsed({"-", ""}).positionals, (std::vector<std::string>{"-", ""}));
}

TEST(Arguments, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(refusal({"--max_wrokers", "1"}), "--max_wrokers: unknown flag; did you mean --max_workers?");
  EXPECT_EQ(refusal({"--frobnicate=1"}),
            "--frobnicate: unknown flag; `attention-plasticity measure --help` lists them all");
  EXPECT_EQ(refusal({"-x"}), "-x: unknown flag; `attention-plasticity measure --help` lists them all");
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
    RC_ASSERT(arguments.flags.size() + arguments.positionals.size() <= words.size());
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == ErrorKind::usage);
  }
}

TEST(ShortFlags, StandForQuietAndTheOutput) {
  EXPECT_TRUE(is_quiet(parsed({"-q"})));
  EXPECT_EQ(parsed({"-o", "there"}).value("output_dir"), "there");
  EXPECT_EQ(parsed({"-o", "there"}).flags.front().where, "-o");
  EXPECT_EQ(parsed({"-q", "no"}).positionals, std::vector<std::string>{"no"});
  EXPECT_EQ(refusal({"-o"}), "-o: needs a value: FOLDER");
}

TEST(ShortFlags, OfOutputWinsOverThatOfItsFolder) {
  Command both = command();
  both.flags.push_back({"output", ValueType::text, "FILE", "Where to.", {}, {}});
  EXPECT_EQ(parse_arguments(both, std::vector<std::string>{"-o", "x"}).value("output"), "x");
  EXPECT_EQ(short_flag(both, both.flags.back()), 'o');
  EXPECT_EQ(short_flag(both, both.flags[1]), std::nullopt);
  EXPECT_EQ(short_flag(command(), command().flags[1]), 'o');
  EXPECT_EQ(short_flag(command(), command().flags[0]), std::nullopt);
}

TEST(ShortFlags, AreNotJoinedToTheirValues) {
  EXPECT_EQ(refusal({"-output_dir", "x"}), "-output_dir: unknown flag; did you mean --output_dir?");
  EXPECT_EQ(refusal({"-quiet"}), "-quiet: unknown flag; did you mean --quiet?");
  EXPECT_EQ(refusal({"-max_workers=3"}), "-max_workers=3: unknown flag; did you mean --max_workers?");
  EXPECT_EQ(refusal({"-ox"}), "-ox: unknown flag; `attention-plasticity measure --help` lists them all");
}

}  // namespace
}  // namespace attention_plasticity
