#include "attention_plasticity/run/part_worker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/run/config_fields.h"
#include "attention_plasticity/run/outcome_bytes.h"
#include "attention_plasticity/run/run_manifest.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr const char* plan_name = "the plan of the run";

}  // namespace

// A line of JSON, then the outcomes.
std::string MeasuredPart::bytes() const {
  const Json json{{"warnings", warnings},
                  {"simd", simd},
                  {"other_times", other_times},
                  {"cpu_s", cpu_s},
                  {"peak_rss_bytes", peak_rss_bytes}};
  return json_text(json) + "\n" + outcomes_bytes(heads);
}

MeasuredPart MeasuredPart::of_bytes(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) throw Error(ErrorKind::input, "does not hold what a worker measured");
  const auto json = parse_json_object<Json>(bytes.substr(0, end), {});
  try {
    return {outcomes_of_bytes(bytes.substr(end + 1)), json.at("warnings").get<std::vector<std::string>>(),
            json.at("simd").get<std::string>(),       json.at("other_times").get<bool>(),
            json.at("cpu_s").get<double>(),           recorded<std::uint64_t>(json.at("peak_rss_bytes"))};
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::input, "does not hold what a worker measured");
  }
}

PartWorker::PartWorker(std::string_view manifest) {
  const std::vector<std::string> differences = program_differences(manifest);
  if (!differences.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("the run was planned by another version than is installed here: {}; install the same one "
                            "on all machines",
                            fmt::join(differences, "; ")));
  }
  prepared_ = recorded_run(manifest, plan_name);
  config_ = resolve_config(recorded_settings(manifest, plan_name));
  folder_ = recorded_folder(manifest, plan_name);
  planned_folder_ = std::exchange(prepared_.layout.folder, folder_);
  if (config_.dataset_address) {
    prepared_.layout.store = find_heads_in_store(StoreAddress(*config_.dataset_address), config_.model_dir).store;
  }
  for (HeadTask& task : prepared_.tasks) {
    for (fs::path* file : {&task.query_file, &task.key_file})
      *file = folder_ / file->lexically_relative(planned_folder_);
    places_.emplace(task.head, places_.size());
  }
  std::vector<RecordedFile> files = std::exchange(prepared_.known_files, {}).value_or(std::vector<RecordedFile>());
  for (RecordedFile& file : files) {
    std::string name = file.file;
    known_files_.emplace(std::move(name), std::move(file));
  }
}

// Null: the run knows no such file.
const RecordedFile* PartWorker::known_file(const fs::path& file) const {
  const auto known = known_files_.find(file.lexically_relative(folder_).generic_string());
  return known == known_files_.end() ? nullptr : &known->second;
}

// A file in a store, as it was listed where the run was planned. All machines see the same one, so that another time
// means another file, not a copy.
std::optional<FileIdentity> PartWorker::listed_file(const fs::path& file) const {
  const RecordedFile* known = known_file(file);
  if (known == nullptr) return std::nullopt;
  return FileIdentity{0, 0, known->bytes, known->modified_ns.value_or(0)};
}

// Whether a file on disk has the modification time that it had where the run was planned. One that was not there then
// fails its head as it does in any run.
bool PartWorker::check_file(const fs::path& file) const {
  const RecordedFile* known = known_file(file);
  if (known == nullptr) return true;
  if (std::error_code missing; !fs::exists(file, missing)) {
    throw Error(ErrorKind::input,
                "this machine does not see the dump; put it where all machines have it under the same name, such as a "
                "shared disk or an object store",
                file.string());
  }
  const FileIdentity seen = prepared_.layout.files().open(file)->identity();
  if (seen.bytes != known->bytes) {
    throw Error(ErrorKind::input,
                fmt::format("has {} bytes here, and had {} where the run was planned", seen.bytes, known->bytes),
                file.string());
  }
  return !known->modified_ns || seen.modified == *known->modified_ns;
}

// Where the run was planned, the dump may be named by a relative path.
void PartWorker::show_as_planned(HeadOutcome& outcome) const {
  if (!outcome.failure) return;
  const fs::path relative = fs::path(outcome.failure->file).lexically_relative(folder_);
  if (!relative.empty() && *relative.begin() != "..") outcome.failure->file = (planned_folder_ / relative).string();
}

MeasuredPart PartWorker::measure(std::span<const HeadId> heads, const std::stop_token& stop) {
  MeasuredPart part;
  part.simd = program_version().simd;
  std::vector<HeadTask> tasks;
  for (const HeadId& head : heads) {
    const auto place = places_.find(head);
    if (place == places_.end()) {
      throw Error(ErrorKind::usage, fmt::format("layer {} q_head {} is no head of the run", head.layer, head.q_head));
    }
    HeadTask task = prepared_.tasks[place->second];
    if (prepared_.layout.files().are_remote()) {
      task.query_identity = listed_file(task.query_file);
      task.key_identity = listed_file(task.key_file);
    } else {
      for (const fs::path& file : {task.query_file, task.key_file}) {
        if (!check_file(file)) part.other_times = true;
      }
      measure_files(task, config_, disk_files(), tasks.empty() ? nullptr : &tasks.back());
    }
    tasks.push_back(std::move(task));
  }
  RunObserver observer;
  observer.warning = [&part](const std::string& line) { part.warnings.push_back(line); };
  HeadOutcomes outcomes = measure_heads(prepared_, config_, tasks, {.workers = 1, .stop = stop}, observer);
  if (outcomes.failure) std::rethrow_exception(outcomes.failure);
  if (outcomes.interrupted) throw_stopped();
  part.heads = std::move(outcomes.heads);
  for (HeadOutcome& outcome : part.heads) show_as_planned(outcome);
  return part;
}

}  // namespace attention_plasticity
