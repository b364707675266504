#include <fmt/format.h>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/error.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/report/report.h"

namespace attention_plasticity {
namespace {

std::string readable_size(std::size_t bytes) {
  if (bytes >= 1'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3);
}

}  // namespace

Command report_command() {
  return {"report",
          "RESULTS",
          "Write one HTML page that shows everything a run has measured; it opens from disk.",
          {{"output", "FILE", "where to write the page (default: report.html in the folder of the results)"},
           {"labels", "FILE", "what is known of heads (default: head_labels.csv of the results, if there is one)"}}};
}

int run_report(const Arguments& arguments) {
  if (arguments.positionals().size() != 1) {
    throw Error(ErrorKind::usage, "report takes one folder of results: attention-plasticity report RESULTS");
  }
  ReportOptions options;
  options.results = arguments.positionals().front();
  if (const auto labels = arguments.value("labels")) options.labels = *labels;
  const Report report = make_report(options);
  const bool is_folder = std::filesystem::is_directory(options.results);
  const std::filesystem::path folder = is_folder ? options.results : options.results.parent_path();
  const std::filesystem::path output = arguments.value("output").value_or((folder / "report.html").string());
  for (const std::string& note : report.notes) tell(note + "\n");
  write_file_atomically(output, report.page);
  fmt::print("{}: {} heads, {}\n", output.string(), report.heads, readable_size(report.page.size()));
  return 0;
}

}  // namespace attention_plasticity
