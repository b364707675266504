#include <fmt/format.h>

#include <filesystem>

#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/compare/comparison.h"
#include "attention_plasticity/compare/comparison_text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/results/output_files.h"

namespace attention_plasticity {
namespace {

struct CompareFlags {
  ComparisonOptions options;
  std::optional<std::string> output;
  bool quiet = false;
};

const FieldTable<CompareFlags>& compare_table() {
  using Flags = CompareFlags;
  const auto option = [](auto member) { return nested(&Flags::options, member); };
  static const FieldTable<CompareFlags> table{
      {"columns", values::names(), option(&ComparisonOptions::columns),
       "Columns of head_metrics.csv to compare. Only ap_exact and ap_overall have errors.", "ap_exact,ap_overall"},
      {"level", values::share(false), option(&ComparisonOptions::level), "A head moved when its q is below this."},
      {"output", values::any_text("FOLDER"), &Flags::output, "Folder for head_differences.csv and comparison.json.",
       "nothing is written"},
      {"quiet", values::boolean(), &Flags::quiet, "Print no summary."},
  };
  return table;
}

void write_comparison(const std::filesystem::path& folder, const Comparison& comparison, const ComparedRun& a,
                      const ComparedRun& b, bool quiet) {
  OutputFiles output;
  const std::filesystem::path table = folder / "head_differences.csv";
  const std::filesystem::path summary = folder / "comparison.json";
  output.stage(table, differences_csv(comparison));
  output.stage(summary, comparison_json(comparison, a, b));
  output.commit();
  if (!quiet) fmt::print("\nWritten:\n  {}\n  {}\n", table.string(), summary.string());
}

}  // namespace

Command compare_command() {
  return {"compare",
          "A B",
          "Compare the heads of two runs: what moved from A to B, and is it more than noise?",
          descriptions(compare_table()),
          {{"attention-plasticity compare out/base out/tuned --output out/diff",
            "Which heads did fine-tuning change? A and B are folders of results."}}};
}

int run_compare(const Arguments& arguments) {
  const auto [options, folder, quiet] = options_of(compare_table(), arguments);
  if (arguments.positionals.size() != 2) {
    throw Error(ErrorKind::usage,
                "compare takes the folders of two runs: attention-plasticity compare out/base out/tuned");
  }
  std::vector<std::string> notes;
  const ComparedRun a = read_compared_run(arguments.positionals[0], notes);
  const ComparedRun b = read_compared_run(arguments.positionals[1], notes);
  for (const std::string& note : notes) tell(with_flags(note) + "\n");
  const Comparison comparison = compare(a, b, options);
  for (const std::string& caveat : comparison.caveats) tell("warning: " + with_flags(caveat) + "\n");
  if (!quiet) fmt::print("{}", comparison_table(comparison, a, b));
  if (folder) write_comparison(*folder, comparison, a, b, quiet);
  return 0;
}

}  // namespace attention_plasticity
