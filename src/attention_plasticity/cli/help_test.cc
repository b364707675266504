#include "attention_plasticity/cli/help.h"

#include <gtest/gtest.h>

namespace attention_plasticity {
namespace {

Field flag(const std::string& name, const std::string& value_name, const std::string& help,
           const std::string& default_text, const std::string& group = {}) {
  const ValueType type = value_name.empty() ? ValueType::boolean : ValueType::text;
  Field field{name, type, value_name, help, default_text, {}};
  field.group = group;
  return field;
}

Command measure_command() {
  return {"measure",
          "DUMP",
          "Measure a thing.",
          {flag("seed", "N", "Seed.", "0", "The machine"), flag("max_workers", "N", "How many.", "8"),
           flag("output_dir", "FOLDER", "Where to.", ""), flag("quiet", "", "Print little.", "false"),
           flag("a_flag_with_a_very_long_name", "FILE", "Long.", "none", "The machine")},
          {{"attention-plasticity measure x", "Measure x."}}};
}

TEST(HelpText, ShowsFlagsByGroupWithTheirDefaultsAndExamples) {
  EXPECT_EQ(help_text(measure_command(), 60),
            "Usage: attention-plasticity measure DUMP [--flag value]...\n"
            "\n"
            "Measure a thing.\n"
            "\n"
            "Flags:\n"
            "      --max_workers N      How many. (default: 8)\n"
            "  -o, --output_dir FOLDER  Where to.\n"
            "  -q, --quiet              Print little. (default: false)\n"
            "\n"
            "The machine:\n"
            "      --seed N             Seed. (default: 0)\n"
            "      --a_flag_with_a_very_long_name FILE\n"
            "                           Long. (default: none)\n"
            "\n"
            "A flag is typed --max_workers 4, --max-workers 4 or\n"
            "--max_workers=4. A boolean may stand alone, and --no-NAME\n"
            "turns it off. The word null unsets a value, and the last of\n"
            "a repeated flag counts.\n"
            "\n"
            "Examples:\n"
            "  Measure x.\n"
            "    attention-plasticity measure x\n");
}

TEST(FlagMeaning, SaysWhatAFlagAppliesTo) {
  Field field = flag("cmap", "NAME", "Colours.", "viridis");
  field.scope = "heatmap heads";
  EXPECT_EQ(flag_meaning(field), "Colours. (for heatmap, heads; default: viridis)");
  field.default_text = "";
  EXPECT_EQ(flag_meaning(field), "Colours. (for heatmap, heads)");
}

TEST(Wrapped, BreaksBetweenWordsOnly) {
  EXPECT_EQ(wrapped("one two three", 8, 0), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 7, 2), "  one\n  two\n  three");
  EXPECT_EQ(wrapped("one two", 12, 4, 4), "one two");
  EXPECT_EQ(wrapped("averyveryverylongword x", 6, 2), "  averyveryverylongword\n  x");
  EXPECT_EQ(wrapped("", 6, 2), "  ");
  EXPECT_EQ(wrapped("λλλ λλλ", 7, 0), "λλλ λλλ");  // columns, not bytes
}

}  // namespace
}  // namespace attention_plasticity
