#include "attention_plasticity/cli/manual.h"
#include "attention_plasticity/cli/terminal.h"

#include <fmt/format.h>

#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/help.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

// Text as roff shows it: a backslash is a character, a hyphen can be searched for, and a line that begins with a point
// or a quote is no request.
std::string roff(std::string_view text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string flag_entry(const Command& command, const Field& flag) {
  const std::optional<char> letter = short_flag(command, flag);
  return fmt::format(".TP\n{}\\fB\\-\\-{}\\fR{}\n{}\n", letter ? fmt::format("\\fB\\-{}\\fR, ", *letter) : "",
                     roff(flag.name), flag.value_name.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(flag.value_name)),
                     roff(flag_meaning(flag)));
}

std::string subcommand_section(const Command& command) {
  std::string text = fmt::format(".SS {0}\n\\fBattention\\-plasticity {0}\\fR", roff(command.name));
  if (!command.positionals.empty()) text += fmt::format(" \\fI{}\\fR", roff(command.positionals));
  if (!command.flags.empty()) text += " [\\fI\\-\\-flag value\\fR]...";
  text += fmt::format("\n.PP\n{}\n", roff(command.summary));
  for (const FlagGroup& group : flag_groups(command)) {
    text += fmt::format(".PP\n{}:\n", roff(group.name));
    for (const Field& flag : group.flags) text += flag_entry(command, flag);
  }
  return text;
}

std::string examples_section(std::span<const Command> commands) {
  std::string text = ".SH EXAMPLES\n";
  for (const Command& command : commands) {
    for (const Example& example : command.examples) {
      text += fmt::format(".PP\n{}\n.PP\n.nf\n.RS 4\n{}\n.RE\n.fi\n", roff(example.meaning), roff(example.text));
    }
  }
  return text;
}

}  // namespace

std::string manual_page(std::span<const Command> commands, const std::string& version) {
  std::string text = fmt::format(
      ".TH ATTENTION\\-PLASTICITY 1 \"\" \"attention\\-plasticity {}\" \"User Commands\"\n"
      ".SH NAME\nattention\\-plasticity \\- measure the plasticity of attention heads\n"
      ".SH SYNOPSIS\n.B attention\\-plasticity\n\\fISUBCOMMAND\\fR ...\n"
      ".br\n.B attention\\-plasticity\n\\fISUBCOMMAND\\fR \\fB\\-\\-help\\fR\n"
      ".br\n.B attention\\-plasticity\n\\fB\\-\\-version\\fR\n",
      roff(version));
  text +=
      fmt::format(".SH DESCRIPTION\n{}\n.PP\n{}\n.SH SUBCOMMANDS\n", roff(program_description()), roff(flag_rules()));
  for (const Command& command : commands) text += subcommand_section(command);
  text += ".SH EXIT STATUS\n";
  for (const ExitStatus& status : exit_statuses())
    text += fmt::format(".TP\n{}\n{}\n", status.code, roff(status.meaning));
  text += examples_section(commands);
  text +=
      ".SH ENVIRONMENT\n.TP\nNO_COLOR\nIf set, messages have no colours.\n"
      ".TP\nHF_HOME, HF_HUB_CACHE, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE\n"
      "Cache, token, address and use of the Hugging Face Hub, as its Python client reads them.\n";
  return text;
}

Command man_command() {
  return {"man",
          "",
          "Print the manual page, for man(1).",
          {},
          {{"attention-plasticity man | man -l -", "Read the manual without installing it."}}};
}

int run_man(const Arguments& arguments) {
  arguments.refuse_positionals("man takes no arguments");
  print(manual_page(all_commands(), std::string(program_version().version)));
  return 0;
}

}  // namespace attention_plasticity
