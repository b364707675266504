#include "attention_plasticity/results/result_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/results/head_tables.h"
#include "attention_plasticity/results/output_files.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& file) {
  std::error_code unknown;
  return fs::exists(file, unknown);
}

std::size_t place(TableId table) { return static_cast<std::size_t>(table); }

// The reason why a file is not a table of the run; empty when it is one, as far as names and digests show.
std::string why_not_of_run(const fs::path& file, std::string_view bytes, const RunRecord& record,
                           const std::string& run) {
  const RecordedTable* table = record.find(file.filename().string());
  if (table == nullptr) return fmt::format("{} does not name it as a table of its run", run);
  if (table->sha256 && *table->sha256 != sha256(bytes)) {
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

// The reason why the metrics are not those of a run.json without digests; empty when they are.
std::string metrics_problem(const fs::path& file, std::string_view text, const RunRecord& record,
                            const std::string& run) {
  const HeadMetrics metrics(parse_csv(text, file.string()));
  if (record.heads_done != metrics.heads().size()) {
    return fmt::format("{} is of another run: it states {} heads, {} has {}", run, record.heads_done.value_or(0),
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

std::string results_name(const fs::path& results) {
  std::error_code unknown;
  const fs::path folder = results_folder(results);
  // A path such as "." has a name only together with the folder that it is in.
  const fs::path whole = fs::absolute(folder.empty() ? fs::path(".") : folder, unknown).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

std::vector<TableId> all_tables() {
  std::vector<TableId> tables;
  tables.reserve(table_count);
  for (const ResultTable& table : result_tables()) tables.push_back(table.id);
  return tables;
}

ResultFiles::ResultFiles(const fs::path& results, TableId given, std::vector<TableId> wanted)
    : folder_(results_folder(results)), wanted_(std::move(wanted)) {
  if (!is_there(results)) throw Error(ErrorKind::input, "there is no such file or folder", results.string());
  // The renames of a run that puts its results in place take some milliseconds.
  constexpr int most_tries = 5;
  constexpr std::chrono::milliseconds pause(10);
  for (int tries = 1;; ++tries) {
    try {
      if (read_all(results, given) || tries == most_tries) break;
    } catch (const Error&) {  // such as a file that is gone when it is opened
      if (tries == most_tries) throw;
    }
    std::this_thread::sleep_for(pause);
  }
  if (record_ && record_->schema == 1) check_schema_1();
  if (const auto interrupted = interrupted_metrics();
      interrupted && folder_ == results &&
      std::ranges::any_of(tables_, [](const auto& table) { return table.has_value(); })) {
    notes_.push_back(
        fmt::format("{}: left by a later run that was interrupted; give this file to use it", interrupted->string()));
  }
  find_labels();
}

// Returns false when files do not fit each other, which may be because a run is replacing them.
bool ResultFiles::read_all(const fs::path& results, TableId given) {
  tables_ = {};
  texts_ = {};
  left_out_ = {};
  run_.reset();
  run_text_.clear();
  record_.reset();
  notes_.clear();
  const bool is_folder = folder_ == results;
  partial_ = !is_folder && results.stem().extension() == ".partial";
  const fs::path run = partial_ ? partial_name(folder_ / "run.json") : folder_ / "run.json";
  if (is_there(run)) {
    run_ = run;
    run_text_ = read_text_file(run, most_record_bytes);
    record_ = parse_run_record(run_text_, run.string());
    const bool has_metrics = std::ranges::find(wanted_, TableId::metrics) != wanted_.end();
    if (record_->schema == 1 && !has_metrics) wanted_.push_back(TableId::metrics);  // see check_schema_1
  } else {
    notes_.push_back(fmt::format(
        "{}: there is no such file, so nothing tells whether the tables beside it are of one run", run.string()));
  }
  for (const TableId table : wanted_) {
    find_table(result_table(table), !is_folder && table == given ? std::optional(results) : std::nullopt);
  }
  return record_ ? is_of_one_run() : !is_there(run);
}

// True if every table that run.json names was found with the bytes that it names.
bool ResultFiles::is_of_one_run() const {
  return std::ranges::all_of(wanted_, [&](TableId table) {
    if (find(table)) return true;
    const std::vector<std::string> wanted = names(result_table(table));
    return std::ranges::none_of(wanted, [&](const std::string& name) { return record_->find(name) != nullptr; });
  });
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
  std::string bytes = read_file_bytes(file, most_table_bytes);
  if (const std::string why = record_ ? why_not_of_run(file, bytes, *record_, run_name()) : ""; !why.empty()) {
    left_out_[place(table.id)] = {file, why};
  } else {
    tables_[place(table.id)] = file;
    texts_[place(table.id)] = std::move(bytes);
  }
}

// Without digests run.json is held against the metrics alone. When it does not fit them, no table is known to be its.
void ResultFiles::check_schema_1() {
  if (!record_) return;
  const std::string run = run_name();
  const auto& metrics = find(TableId::metrics);
  const std::string problem = metrics ? metrics_problem(*metrics, texts_[place(TableId::metrics)], *record_, run)
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
    const RunRecord record = parse_run_record(read_text_file(run, most_record_bytes), run.string());
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
    throw Error(ErrorKind::input,
                fmt::format("{}; analyse the dump again with `resume`, or move {} away to use the table alone",
                            left_out->why, run_name()),
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

CsvTable ResultFiles::read(TableId id) const { return parse_csv(texts_[place(id)], table(id).string()); }

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
