#include "attention_plasticity/cli/completion.h"

#include <gtest/gtest.h>

namespace attention_plasticity {
namespace {

std::vector<Command> commands() {
  return {{"draw",
           "line|map RESULTS",
           "Draw 'it': a figure.",
           {{"style", ValueType::word, "paper|screen", "Black [or] white: one.", "paper", {}},
            {"output", ValueType::text, "FILE", "The user's file.", "", {}},
            {"progress", ValueType::boolean, "", "A bar.", "true", {}},
            {"limit", ValueType::integer, "N", "How many.", "", {}}},
           {}}};
}

void expect_lines(const std::string& script, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    EXPECT_NE(script.find("\n" + line + "\n"), std::string::npos) << line << "\nin\n" << script;
  }
}

TEST(BashCompletion, KnowsFlagsTheirWordsAndFiles) {
  expect_lines(bash_completion(commands()),
               {"        --style) COMPREPLY=($(compgen -W 'paper screen' -- \"$current\")); return ;;",
                "        --output|-o) _attention_plasticity_files \"$current\"; return ;;",
                "        --limit) COMPREPLY=($(compgen -W '' -- \"$current\")); return ;;",
                "      flags='--style -o --output --no-progress --limit --help'", "      words='line map'",
                "      files=yes ;;"});
}

TEST(ZshCompletion, EscapesDescriptions) {
  expect_lines(
      zsh_completion(commands()),
      {"    'draw:Draw '\\''it'\\''\\: a figure.'",
       "        '--style[Black \\[or\\] white\\: one.]:paper|screen:(paper screen)' \\",
       "        '-o[The user'\\''s file.]:FILE:_files' \\", "        '--no-progress[A bar.]' \\",
       "        '--limit[How many.]:N: ' \\", "        '1:argument:(line map)' \\", "        '*:file:_files' \\"});
}

TEST(FishCompletion, KnowsWhatAFlagTakes) {
  const std::string start = "complete -c attention-plasticity -n '__fish_seen_subcommand_from draw' ";
  expect_lines(fish_completion(commands()),
               {"complete -c attention-plasticity -n __fish_use_subcommand -a draw -d 'Draw '\\''it'\\'': a figure.'",
                start + "-l style -x -a 'paper screen' -d 'Black [or] white: one.'",
                start + "-s o -l output -r -F -d 'The user'\\''s file.'", start + "-l no-progress -d 'A bar.'",
                start + "-l limit -x -d 'How many.'", start + "-a 'line map'", start + "-F"});
}

}  // namespace
}  // namespace attention_plasticity
