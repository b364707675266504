#include "attention_plasticity/run/worker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/outcomes/outcome_bytes.h"
#include "attention_plasticity/outcomes/run_manifest.h"
#include "attention_plasticity/run/analysis_run.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr const char* manifest_name = "the manifest of the run";

[[noreturn]] void refuse() { throw Error(ErrorKind::input, "does not hold the outcomes of a worker"); }

}  // namespace

std::string MeasuredGroup::bytes() const {
  std::vector<std::size_t> sizes;
  std::string records;
  for (const HeadOutcome& head : heads) {
    const std::string record = outcome_bytes(head);
    sizes.push_back(record.size());
    records += record;
  }
  const Json json{{"simd", simd},
                  {"other_times", other_times},
                  {"cpu_s", cpu_s},
                  {"peak_rss_bytes", peak_rss_bytes},
                  {"records", sizes}};
  return json_text(json) + "\n" + records;
}

MeasuredGroup MeasuredGroup::of_bytes(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) refuse();
  const auto json = parse_json_object<Json>(bytes.substr(0, end), {});
  bytes.remove_prefix(end + 1);
  try {
    MeasuredGroup group{{},
                        json.at("simd").get<std::string>(),
                        json.at("other_times").get<bool>(),
                        json.at("cpu_s").get<double>(),
                        recorded<std::uint64_t>(json.at("peak_rss_bytes"))};
    for (const Json& record : json.at("records")) {
      const auto size = recorded<std::size_t>(record);
      if (size > bytes.size()) refuse();
      group.heads.push_back(outcome_of_bytes(bytes.substr(0, size)));
      bytes.remove_prefix(size);
    }
    if (!bytes.empty()) refuse();
    return group;
  } catch (const nlohmann::json::exception&) {
    refuse();
  }
}

HeadWorker::HeadWorker(std::string_view manifest) {
  const std::vector<std::string> differences = program_differences(manifest);
  if (!differences.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("the run was prepared by another version than is installed here: {}; install the same one "
                            "on all machines",
                            fmt::join(differences, "; ")));
  }
  prepared_ = recorded_run(manifest, manifest_name);
  config_ = resolve_config(recorded_settings(manifest, manifest_name));
  prepared_folder_ = std::exchange(prepared_.layout.folder, recorded_folder(manifest, manifest_name));
  if (config_.dataset_address) {
    prepared_.layout.store = find_heads_in_store(StoreAddress(*config_.dataset_address), config_.model_dir).store;
  }
  source_ = std::make_shared<FileSource>(prepared_.layout, config_);
  prepared_.source = source_;
  std::vector<RecordedFile> files = std::exchange(prepared_.known_files, {}).value_or(std::vector<RecordedFile>());
  for (RecordedFile& file : files) {
    std::string name = file.file;
    known_files_.emplace(std::move(name), std::move(file));
  }
}

// Null if the run knows no such file.
const RecordedFile* HeadWorker::known_file(const fs::path& file) const {
  const auto known = known_files_.find(file.lexically_relative(prepared_.layout.folder).generic_string());
  return known == known_files_.end() ? nullptr : &known->second;
}

// Returns true if a file on disk has the modification time that it had where the run was prepared. One that was not
// there fails its head as it does in any run.
bool HeadWorker::check_file(const fs::path& file) const {
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
                fmt::format("has {} bytes here, and had {} where the run was prepared", seen.bytes, known->bytes),
                file.string());
  }
  return !known->modified_ns || seen.modified == *known->modified_ns;
}

// Names the file of a failure as the process that prepared the run does, perhaps by a relative path.
void HeadWorker::show_as_prepared(HeadOutcome& outcome) const {
  if (!outcome.failure) return;
  const fs::path relative = fs::path(outcome.failure->file).lexically_relative(prepared_.layout.folder);
  if (!relative.empty() && *relative.begin() != "..") outcome.failure->file = (prepared_folder_ / relative).string();
}

MeasuredGroup HeadWorker::measure(std::span<const HeadId> heads, const std::stop_token& stop) {
  MeasuredGroup group;
  group.simd = program_version().simd;
  std::vector<HeadTask> tasks;
  for (const HeadId& head : heads) {
    const auto place = std::ranges::lower_bound(prepared_.tasks, head, {}, &HeadTask::head);
    if (place == prepared_.tasks.end() || place->head != head) {
      throw Error(ErrorKind::usage, fmt::format("layer {} q_head {} is no head of the run", head.layer, head.q_head));
    }
    HeadTask task = *place;
    for (const HeadSide& side : {keys_of(head), queries_of(head)}) {
      const fs::path file = source_->file(side);
      if (!prepared_.layout.files().are_remote()) {
        if (!check_file(file)) group.other_times = true;
      } else if (const RecordedFile* known = known_file(file)) {
        // All machines see the same file in a store, so that another time means another file, not a copy.
        source_->expect_file(side, {0, 0, known->bytes, known->modified_ns.value_or(0)});
      }
    }
    if (!prepared_.layout.files().are_remote()) source_->prepare(task, tasks.empty() ? nullptr : &tasks.back());
    tasks.push_back(task);
  }
  const RunObserver told = serialized({});
  HeadOutcomes outcomes = measure_tasks(prepared_, config_, tasks, {.workers = 1, .stop = stop}, told);
  if (outcomes.failure) std::rethrow_exception(outcomes.failure);
  if (outcomes.interrupted) throw_stopped();
  group.heads = std::move(outcomes.heads);
  for (HeadOutcome& outcome : group.heads) show_as_prepared(outcome);
  return group;
}

}  // namespace attention_plasticity
