#include <fmt/format.h>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/report/report.h"
#include "attention_plasticity/results/result_files.h"

namespace attention_plasticity {
namespace {

struct ReportFlags {
  std::optional<std::string> output;
  std::optional<std::filesystem::path> labels;
  std::size_t min_count = ReportOptions().min_count;
};

const FieldTable<ReportFlags>& report_table() {
  static const FieldTable<ReportFlags> table{
      {"output", values::any_text(), &ReportFlags::output, "Where to write the page.",
       "report.html in the folder of the results"},
      {"labels", values::any_text(), &ReportFlags::labels, "Known labels of heads.",
       "head_labels.csv of the results or of the dump"},
      {"min_count", values::count(0), &ReportFlags::min_count,
       "Pairs, triples or queries below which a value is shown as little data and sets no colour."},
  };
  return table;
}

std::string readable_size(std::size_t bytes) {
  if (bytes >= 1'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3);
}

}  // namespace

Command report_command() {
  return {"report",
          "RESULTS",
          "Write one HTML page that shows everything a run has measured; it opens from disk.",
          descriptions(report_table()),
          {{"attention-plasticity report out/mine --labels head_labels.csv -o report.html",
            "Show a run beside the known roles of its heads."}}};
}

int run_report(const Arguments& arguments) {
  const ReportFlags flags = options_of(report_table(), arguments);
  ReportOptions options;
  options.results =
      arguments.only_positional("report takes one folder of results: attention-plasticity report RESULTS");
  options.labels = flags.labels;
  options.min_count = flags.min_count;
  const Report report = make_report(options);
  const std::filesystem::path output =
      flags.output.value_or((results_folder(options.results) / "report.html").string());
  for (const std::string& note : report.notes) tell_line(note);
  write_file_atomically(output, report.page);
  print(fmt::format("{}: {}, {}\n", output.string(), counted_text(report.heads, "head"),
                    readable_size(report.page.size())));
  return 0;
}

}  // namespace attention_plasticity
