#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/cli/commands.h"
#include "attention_plasticity/cli/flag_text.h"
#include "attention_plasticity/cli/gnuplot_here.h"
#include "attention_plasticity/cli/output_locks.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/compare/comparison.h"
#include "attention_plasticity/compare/comparison_text.h"
#include "attention_plasticity/compare/series.h"
#include "attention_plasticity/compare/series_text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/figure/figure.h"
#include "attention_plasticity/report/report.h"
#include "attention_plasticity/results/output_files.h"
#include "attention_plasticity/results/result_files.h"
#include "attention_plasticity/sweep/sweep_index.h"

namespace attention_plasticity {
namespace {

struct CompareFlags {
  SeriesOptions options;
  bool series = false;
  std::optional<std::string> x;
  std::optional<std::string> output;
  bool quiet = false;
};

const FieldTable<CompareFlags>& compare_table() {
  using Flags = CompareFlags;
  const auto option = [](auto member) { return nested(&Flags::options, member); };
  static const FieldTable<CompareFlags> table{
      {"columns", values::names(), option(&SeriesOptions::columns),
       "Columns of head_metrics.csv to compare. Only ap_exact and ap_overall have errors.", "ap_exact,ap_overall"},
      {"level", values::share(false), option(&SeriesOptions::level), "A head moved when its q is below this."},
      {"series", values::boolean(), &Flags::series,
       "Follow heads through all runs in an order, each compared with the one before."},
      {"x", values::any_text("NAME=LIST|FILE"), &Flags::x,
       "What orders a series: step=0,500,1000 in the order of the runs, or a CSV file with the columns results and a "
       "number.",
       "the number in which the names of the folders differ", "series"},
      {"threshold", values::number(), option(&SeriesOptions::threshold),
       "Value whose crossing a series tells, head by head.", "", "series"},
      {"output", values::any_text("FOLDER"), &Flags::output, "Folder for tables, summary, figures and page.",
       "nothing is written"},
      {"quiet", values::boolean(), &Flags::quiet, "Print no summary."},
  };
  return table;
}

struct NamedText {
  std::string_view name;
  std::string text;
};

struct NamedFigure {
  std::string_view name;
  FigureKind kind;
  std::filesystem::path table = {};                   // empty: what `compare` writes
  std::optional<std::filesystem::path> against = {};  // the second run, for figures of runs
};

// The page of the compared runs. It has all common columns, whichever are compared in the tables.
std::string page_of(const std::vector<std::string>& folders, const CompareFlags& flags) {
  ReportOptions options;
  options.results.assign(folders.begin(), folders.end());
  options.level = flags.options.level;
  options.threshold = flags.options.threshold;
  options.x = flags.x;
  options.series = flags.series;
  return make_report(options).page;
}

// The last of `files` tells what the others are. The figures are drawn from the tables, which are written before.
void write_files(const std::vector<std::string>& folders, const CompareFlags& flags,
                 const std::vector<NamedText>& files, const std::vector<NamedFigure>& figures) {
  const std::filesystem::path folder = flags.output.value_or("");
  const std::string page = has_page() ? page_of(folders, flags) : "";
  std::vector<std::string> written;
  written.reserve(files.size() + figures.size() + 1);
  for (const NamedText& file : files) written.push_back((folder / file.name).string());
  const std::vector<FolderLock> locks = locked_outputs(written);
  OutputFiles output;
  for (std::size_t i = 0; i < files.size(); ++i) output.stage(written[i], files[i].text);
  output.commit();
  if (!page.empty()) {
    written.push_back((folder / "report.html").string());
    write_file_atomically(written.back(), page);
  }
  const Gnuplot gnuplot = gnuplot_here();
  if (gnuplot.program.empty()) tell("gnuplot is not installed, so no figures are drawn\n");
  for (const NamedFigure& figure : figures) {
    if (gnuplot.program.empty()) break;
    FigureOptions options;
    options.kind = figure.kind;
    options.table = figure.table.empty() ? folder : figure.table;
    options.against = figure.against;
    try {
      write_file_atomically(folder / figure.name, draw_figure(options, gnuplot).image);
      written.push_back((folder / figure.name).string());
    } catch (const Error& error) {
      // Runs may be compared whose tables do not fit, such as those of other buckets.
      if (!figure.against || error.kind() != ErrorKind::input) throw;
      tell_line(fmt::format("{} is not drawn: {}: {}", figure.name, error.file(), error.what()));
    }
  }
  if (flags.quiet) return;
  print("\nWritten:\n");
  for (const std::string& file : written) print(fmt::format("  {}\n", file));
}

void tell_caveats(const std::vector<std::string>& caveats) {
  for (const std::string& caveat : caveats) tell_line("warning: " + caveat);
}

// The figures of the tables by position and by distance exist where both runs wrote these tables.
std::vector<NamedFigure> figures_of_two(const std::vector<std::string>& folders) {
  std::vector<NamedFigure> figures{{"changes.png", FigureKind::changes}, {"change_map.png", FigureKind::change_map}};
  const auto both_have = [&](TableId table) {
    return std::ranges::all_of(folders, [&](const std::string& folder) {
      return ResultFiles(folder, TableId::metrics, {TableId::metrics, table}).find(table).has_value();
    });
  };
  if (both_have(TableId::time)) figures.push_back({"curves.png", FigureKind::plasticity, folders[0], folders[1]});
  if (both_have(TableId::distance)) figures.push_back({"distances.png", FigureKind::distance, folders[0], folders[1]});
  return figures;
}

void compare_two(std::span<const ComparedRun> runs, const std::vector<std::string>& folders,
                 const CompareFlags& flags) {
  const ComparedRun& a = runs[0];
  const ComparedRun& b = runs[1];
  const Comparison comparison = compare(a, b, {flags.options.columns, flags.options.level});
  tell_caveats(comparison.caveats);
  if (!flags.quiet) print(comparison_table(comparison, a, b));
  if (!flags.output) return;
  write_files(
      folders, flags,
      {{"head_differences.csv", differences_csv(comparison)}, {"comparison.json", comparison_json(comparison, a, b)}},
      figures_of_two(folders));
}

void follow(std::span<const ComparedRun> runs, const std::vector<std::string>& folders, const CompareFlags& flags) {
  const SeriesAxis axis = flags.x ? parse_axis(*flags.x, folders) : axis_of_names(folders);
  const Series series = make_series(runs, axis, flags.options);
  tell_caveats(series.caveats);
  if (!flags.quiet) print(series_table(series, runs));
  if (!flags.output) return;
  write_files(folders, flags, {{"head_series.csv", series_csv(series)}, {"series.json", series_json(series, runs)}},
              {{"series.png", FigureKind::series}});
}

// Folders of runs; in place of the folder of a sweep, those of its finished runs, in its order.
std::vector<std::string> run_folders(const std::vector<std::string>& given) {
  std::vector<std::string> folders;
  for (const std::string& folder : given) {
    const auto index = read_sweep_index(folder);
    if (!index) {
      folders.push_back(folder);
      continue;
    }
    std::size_t left_out = 0;
    for (const IndexedRun& run : *index) {
      if (run.state == SweepState::done) {
        folders.push_back((std::filesystem::path(folder) / run.folder).string());
      } else {
        ++left_out;
      }
    }
    if (left_out > 0) {
      tell_line(fmt::format("{}: {} of {} of this sweep {} not done and left out", folder, left_out,
                            counted_text(index->size(), "run"), left_out == 1 ? "is" : "are"));
    }
  }
  return folders;
}

}  // namespace

Command compare_command() {
  return {"compare",
          "RUN RUN...",
          "Compare the heads of runs: what moved from the first to the second, and is it more than noise?",
          descriptions(compare_table()),
          {{"attention-plasticity compare out/base out/tuned --output out/diff",
            "Which heads did fine-tuning change? The runs are folders of results."},
           {"attention-plasticity compare out/step-* --series --output out/training",
            "How do heads change over the steps of a training?"},
           {"attention-plasticity compare out/sweep --series", "The same for the finished runs of a sweep."}}};
}

int run_compare(const Arguments& arguments) {
  const CompareFlags flags = options_of(compare_table(), arguments);
  const std::vector<std::string> folders = run_folders(arguments.positionals);
  check_scope(arguments.flags, descriptions(compare_table()), flags.series ? "series" : "pair",
              "a comparison of two runs");
  if (folders.size() < 2) {
    throw Error(ErrorKind::usage,
                "compare takes the folders of two runs: attention-plasticity compare out/base out/tuned");
  }
  if (folders.size() > 2 && !flags.series) {
    throw Error(ErrorKind::usage,
                fmt::format("compare takes two runs, and {} are given; with --series it follows heads "
                            "through all of them",
                            folders.size()));
  }
  std::vector<std::string> notes;
  std::vector<ComparedRun> runs;
  runs.reserve(folders.size());
  for (const std::string& folder : folders) runs.push_back(read_compared_run(folder, notes));
  for (const std::string& note : notes) tell_line(note);
  if (flags.series) {
    follow(runs, folders, flags);
  } else {
    compare_two(runs, folders, flags);
  }
  return 0;
}

}  // namespace attention_plasticity
