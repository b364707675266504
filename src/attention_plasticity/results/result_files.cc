#include "attention_plasticity/results/result_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/results/head_metrics.h"
#include "attention_plasticity/results/output_files.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& file) {
  std::error_code unknown;
  return fs::exists(file, unknown);
}

std::size_t place(TableId table) { return static_cast<std::size_t>(table); }

// Why a file is not a table of the run; empty when it is one, as far as names and digests tell.
std::string stranger(const fs::path& file, const RunRecord& record, const std::string& run) {
  const RecordedTable* table = record.find(file.filename().string());
  if (table == nullptr) return fmt::format("{} does not name it as a table of its run", run);
  if (table->sha256 && *table->sha256 != file_sha256(file)) {
    return fmt::format("its SHA-256 is not the one in {}, so it is of another run or was changed", run);
  }
  return {};
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  std::size_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? std::nan("") : sum / static_cast<double>(count);
}

// Sums in another order differ in the last digits.
bool is_same_mean(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

// Why the metrics are not those of a run.json without digests; empty when they are.
std::string metrics_problem(const fs::path& file, const RunRecord& record, const std::string& run) {
  const HeadMetrics metrics(read_csv(file));
  if (record.heads_done != metrics.heads().size()) {
    return fmt::format("{} is of another run: it tells of {} heads, {} has {}", run, record.heads_done.value_or(0),
                       file.filename().string(), metrics.heads().size());
  }
  for (const auto& [measure, mean] : record.means) {
    const double found = metrics.has(measure) ? mean_of(metrics.values(measure)) : std::nan("");
    if (!is_same_mean(mean, found)) {
      return fmt::format("{} is of another run: its mean of {} is {:.6g}, that of {} is {:.6g}", run, measure, mean,
                         file.filename().string(), found);
    }
  }
  return {};
}

}  // namespace

fs::path results_folder(const fs::path& results) {
  std::error_code unknown;
  return fs::is_directory(results, unknown) ? results : results.parent_path();
}

ResultFiles::ResultFiles(const fs::path& results, TableId given) : folder_(results_folder(results)) {
  if (!is_there(results)) throw Error(ErrorKind::input, "there is no such file or folder", results.string());
  const bool is_folder = folder_ == results;
  partial_ = !is_folder && results.stem().extension() == ".partial";
  const fs::path run = partial_ ? partial_name(folder_ / "run.json") : folder_ / "run.json";
  if (is_there(run)) {
    run_ = run;
    run_text_ = read_text_file(run);
    record_ = parse_run_record(run_text_, run.string());
  } else {
    notes_.push_back(fmt::format(
        "{}: there is no such file, so nothing tells whether the tables beside it are of one run", run.string()));
  }
  for (const ResultTable& table : result_tables()) {
    find_table(table, !is_folder && table.id == given ? std::optional(results) : std::nullopt);
  }
  if (record_ && record_->schema == 1) check_schema_1();
  if (const auto interrupted = interrupted_metrics(); interrupted && is_folder && find(TableId::metrics)) {
    notes_.push_back(
        fmt::format("{}: left by a later run that was interrupted; give this file to use it", interrupted->string()));
  }
  find_labels();
}

void ResultFiles::find_table(const ResultTable& table, const std::optional<fs::path>& given) {
  fs::path file;
  if (given) {
    file = *given;
  } else {
    const std::vector<std::string> wanted = names(table);
    const auto found = std::ranges::find_if(wanted, [&](const std::string& name) { return is_there(folder_ / name); });
    if (found == wanted.end()) return;
    file = folder_ / *found;
  }
  if (const std::string why = record_ ? stranger(file, *record_, run_name()) : ""; !why.empty()) {
    left_out_[place(table.id)] = {file, why};
  } else {
    tables_[place(table.id)] = file;
  }
}

// Without digests run.json is held against the metrics alone. When it does not fit them, no table is known to be its.
void ResultFiles::check_schema_1() {
  if (!record_) return;
  const std::string run = run_name();
  const auto& metrics = find(TableId::metrics);
  const std::string problem = metrics ? metrics_problem(*metrics, *record_, run)
                                      : fmt::format("{} has no digests (schema 1), and without {} it cannot be checked",
                                                    run, result_table(TableId::metrics).file);
  if (problem.empty()) return;
  for (const ResultTable& table : result_tables()) {
    auto& found = tables_[place(table.id)];
    if (!found) continue;
    left_out_[place(table.id)] = {*found, problem};
    found.reset();
  }
}

void ResultFiles::find_labels() {
  std::vector<fs::path> folders{folder_};
  if (record_ && record_->input.folder) folders.emplace_back(*record_->input.folder);
  for (const fs::path& folder : folders) {
    std::error_code unknown;
    if (!fs::is_regular_file(folder / "head_labels.csv", unknown)) continue;
    labels_ = folder / "head_labels.csv";
    return;
  }
}

// The names to look for, in this order: the name that the run gave the table, then the usual name.
std::vector<std::string> ResultFiles::names(const ResultTable& table) const {
  std::vector<std::string> names{std::string(table.file)};
  if (record_) {
    const auto named = record_->names.find(std::string(table.field));
    if (named != record_->names.end() && named->second != table.file) names.insert(names.begin(), named->second);
  }
  if (partial_) {
    for (std::string& name : names) name = partial_name(name).string();
  }
  return names;
}

std::optional<fs::path> ResultFiles::interrupted_metrics() const {
  const fs::path run = partial_name(folder_ / "run.json");
  if (partial_ || !is_there(run)) return std::nullopt;
  try {
    const RunRecord record = parse_run_record(read_text_file(run), run.string());
    const ResultTable& metrics = result_table(TableId::metrics);
    const auto named = record.names.find(std::string(metrics.field));
    const std::string name = named == record.names.end() ? std::string(metrics.file) : named->second;
    fs::path file = partial_name(folder_ / name);
    if (record.find(file.filename().string()) != nullptr && is_there(file)) return file;
  } catch (const Error&) {
    return std::nullopt;  // nothing to offer
  }
  return std::nullopt;
}

std::string ResultFiles::run_name() const { return run_ ? run_->filename().string() : "run.json"; }

const std::optional<fs::path>& ResultFiles::find(TableId table) const { return tables_[place(table)]; }

const fs::path& ResultFiles::table(TableId table) const {
  if (const auto& found = find(table)) return *found;
  if (const auto& left_out = left_out_[place(table)]) {
    throw Error(
        ErrorKind::input,
        fmt::format("{}; analyse the dump again, or move {} away to use the table alone", left_out->why, run_name()),
        left_out->file.string());
  }
  if (const auto interrupted = interrupted_metrics()) {
    throw Error(
        ErrorKind::input,
        fmt::format("holds no {}, but an interrupted run left the heads that it had finished: give {} to use them",
                    result_table(table).file, interrupted->string()),
        folder_.string());
  }
  throw Error(ErrorKind::input,
              fmt::format("holds no {}; results are what `attention-plasticity analyze` writes to its `output_dir`",
                          result_table(table).file),
              folder_.string());
}

std::vector<std::string> ResultFiles::left_out() const {
  std::vector<std::string> lines;
  for (const auto& table : left_out_) {
    if (table) lines.push_back(fmt::format("{}: left out: {}", table->file.string(), table->why));
  }
  return lines;
}

std::optional<RunDescription> ResultFiles::description() const {
  if (!run_) return std::nullopt;
  return parse_run_description(run_text_, run_->string());
}

}  // namespace attention_plasticity
