#include "attention_plasticity/sweep/sweep_index.h"

#include <fmt/format.h>

#include <array>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/csv.h"
#include "attention_plasticity/results/output_files.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr int sweep_schema = 1;
constexpr std::array states{SweepState::to_do, SweepState::done, SweepState::failed};

double number_of(const Json& value) { return value.is_null() ? IndexedRun::unknown : value.get<double>(); }

SweepState state_of(const std::string& text, const std::string& file) {
  for (const SweepState state : states) {
    if (text == state_text(state)) return state;
  }
  throw Error(ErrorKind::input, "knows other states of runs", file);
}

}  // namespace

std::string_view state_text(SweepState state) {
  switch (state) {
    case SweepState::to_do:
      return "to do";
    case SweepState::done:
      return "done";
    case SweepState::failed:
      return "failed";
  }
  return "";
}

std::string sweep_csv(const std::vector<IndexedRun>& runs) {
  constexpr std::array<std::string_view, 10> columns{"name",          "state",    "folder",      "heads_done",
                                                     "heads_failed",  "ap_exact", "ap_exact_se", "ap_overall",
                                                     "ap_overall_se", "message"};
  CsvText csv(columns);
  for (const IndexedRun& run : runs) {
    csv.add_text(run.name);
    csv.add_text(state_text(run.state));
    csv.add_text(run.folder);
    csv.add(std::uint64_t{run.heads_done});
    csv.add(std::uint64_t{run.heads_failed});
    for (const double value : {run.exact, run.exact_error, run.overall, run.overall_error}) csv.add(value);
    csv.add_text(run.message);
    csv.end_row();
  }
  return std::move(csv).text();
}

std::string sweep_json(const std::vector<IndexedRun>& runs) {
  Json list = Json::array();
  for (const IndexedRun& run : runs) {
    list.push_back({{"name", run.name},
                    {"state", state_text(run.state)},
                    {"folder", run.folder},
                    {"heads", {{"done", run.heads_done}, {"failed", run.heads_failed}}},
                    {"ap_exact", {{"mean", run.exact}, {"se", run.exact_error}}},
                    {"ap_overall", {{"mean", run.overall}, {"se", run.overall_error}}},
                    {"message", run.message}});
  }
  return json_text({{"schema", sweep_schema}, {"runs", std::move(list)}}, 1) + "\n";
}

std::vector<IndexedRun> parse_sweep_index(std::string_view text, const std::string& file) {
  const auto json = parse_json_object<Json>(text, {.file = file});
  try {
    if (json.at("schema") != sweep_schema) {
      throw Error(ErrorKind::input, "is the index of another version of the program", file);
    }
    std::vector<IndexedRun> runs;
    for (const Json& run : json.at("runs")) {
      runs.push_back({run.at("name").get<std::string>(), state_of(run.at("state").get<std::string>(), file),
                      run.at("folder").get<std::string>(), recorded<std::size_t>(run.at("heads").at("done")),
                      recorded<std::size_t>(run.at("heads").at("failed")), number_of(run.at("ap_exact").at("mean")),
                      number_of(run.at("ap_exact").at("se")), number_of(run.at("ap_overall").at("mean")),
                      number_of(run.at("ap_overall").at("se")), run.at("message").get<std::string>()});
    }
    return runs;
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::input, "is not the index of a sweep", file);
  }
}

std::optional<std::vector<IndexedRun>> read_sweep_index(const fs::path& folder) {
  const fs::path file = folder / sweep_json_name;
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return std::nullopt;
  return parse_sweep_index(read_text_file(file, most_record_bytes), file.string());
}

void write_sweep_index(const fs::path& folder, const std::vector<IndexedRun>& runs) {
  const fs::path record = folder / sweep_json_name;
  OutputFiles output;
  output.stage(folder / sweep_csv_name, sweep_csv(runs));
  output.stage(record, sweep_json(runs));
  output.commit();
}

void add_figures(IndexedRun& run, const fs::path& run_json) {
  const auto json = parse_json_object<Json>(read_text_file(run_json, most_record_bytes), {.file = run_json.string()});
  try {
    run.heads_done = recorded<std::size_t>(json.at("heads").at("done"));
    run.heads_failed = json.at("heads").at("failed").size();
    const Json& summary = json.at("summary");
    const auto figure = [&summary](const char* column, const char* name) {
      return summary.contains(column) ? number_of(summary.at(column).at(name)) : IndexedRun::unknown;
    };
    run.exact = figure("ap_exact", "mean");
    run.exact_error = figure("ap_exact", "se");
    run.overall = figure("ap_overall", "mean");
    run.overall_error = figure("ap_overall", "se");
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::input, "is not the run.json of a run", run_json.string());
  }
}

}  // namespace attention_plasticity
