#include <fmt/format.h>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/report/report.h"
#include "attention_plasticity/results/result_files.h"

namespace attention_plasticity {
namespace {

struct ReportFlags {
  std::optional<std::string> output;
  std::optional<std::filesystem::path> labels;
  std::size_t min_count = ReportOptions().min_count;
  double level = ReportOptions().level;
  std::optional<std::string> x;
};

const FieldTable<ReportFlags>& report_table() {
  static const FieldTable<ReportFlags> table{
      {"output", values::any_text(), &ReportFlags::output, "Where to write the page.",
       "report.html in the folder of the results; needed for several runs"},
      {"labels", values::any_text(), &ReportFlags::labels, "Known labels of heads.",
       "head_labels.csv of the results or of the dump"},
      {"min_count", values::count(0), &ReportFlags::min_count,
       "Pairs, triples or queries below which a value is shown as little data and sets no colour."},
      {"level", values::share(false), &ReportFlags::level,
       "A head moved from one run to another when its q is below this."},
      {"x", values::any_text("NAME=LIST|FILE"), &ReportFlags::x,
       "What orders several runs: step=0,500,1000 in the order of the runs, or a CSV file with the columns results and "
       "a number.",
       "the number in which the names of the folders differ"},
  };
  return table;
}

std::string readable_size(std::size_t bytes) {
  if (bytes >= 1'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3);
}

}  // namespace

Command report_command() {
  return {
      "report",
      "RESULTS...",
      "Write one HTML page that shows everything that runs have measured, and their differences; it opens from disk.",
      descriptions(report_table()),
      {{"attention-plasticity report out/mine --labels head_labels.csv -o report.html",
        "Show a run beside the known roles of its heads."},
       {"attention-plasticity report out/base out/tuned -o report.html",
        "Show two runs and what changed from the first to the second."}}};
}

int run_report(const Arguments& arguments) {
  const ReportFlags flags = options_of(report_table(), arguments);
  const std::vector<std::string>& folders = arguments.positionals;
  if (folders.empty()) {
    throw Error(ErrorKind::usage, "report takes folders of results: attention-plasticity report RESULTS");
  }
  if (folders.size() > 1 && !flags.output) {
    throw Error(ErrorKind::usage,
                "the page of several runs belongs to no folder of results; name its file with --output");
  }
  ReportOptions options;
  options.results.assign(folders.begin(), folders.end());
  options.labels = flags.labels;
  options.min_count = flags.min_count;
  options.level = flags.level;
  options.x = flags.x;
  const Report report = make_report(options);
  const std::filesystem::path output =
      flags.output.value_or((results_folder(options.results.front()) / "report.html").string());
  for (const std::string& note : report.notes) tell_line(note);
  for (const std::string& warning : report.warnings) tell_line("warning: " + warning);
  write_file_atomically(output, report.page);
  const std::string runs = folders.size() > 1 ? counted_text(folders.size(), "run") + ", " : "";
  print(fmt::format("{}: {}{}, {}\n", output.string(), runs, counted_text(report.heads, "head"),
                    readable_size(report.page.size())));
  return 0;
}

}  // namespace attention_plasticity
