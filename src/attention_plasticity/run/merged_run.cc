#include "attention_plasticity/run/merged_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/common_groups.h"
#include "attention_plasticity/run/config_fields.h"
#include "attention_plasticity/run/rotation_check.h"
#include "attention_plasticity/run/run_manifest.h"
#include "attention_plasticity/store/store_address.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

std::string shard_json(const ShardRecord& shard) { return (fs::path(shard.folder) / "shard.json").string(); }

[[noreturn]] void refuse(const ShardRecord& shard, const std::string& message) {
  throw Error(ErrorKind::usage, message, shard_json(shard));
}

std::string described(const HeadId& head) { return fmt::format("layer {} q_head {}", head.layer, head.q_head); }

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(std::span(lines).first(std::min<std::size_t>(lines.size(), 5)), "; "));
}

}  // namespace

MergedRun::MergedRun(const std::vector<fs::path>& shards, MergeOptions options) : options_(std::move(options)) {
  if (shards.empty()) throw Error(ErrorKind::usage, "there are no shards to merge");
  shards_.reserve(shards.size());
  for (const fs::path& folder : shards) shards_.push_back(read_shard(folder));
  std::ranges::stable_sort(shards_, {}, [](const ShardRecord& shard) { return shard.shard.number; });
  check_shards();
  check_same_run();
  prepared_ = recorded_run(shards_.front().manifest, shard_json(shards_.front()));
  check_heads();
  gather_files();
  resolve();
}

// Of a dump on the Hub, a shard has only its own files on disk.
void MergedRun::gather_files() {
  std::map<fs::path, RecordedFile> files;
  for (const ShardRecord& shard : shards_) {
    const PreparedRun run = recorded_run(shard.manifest, shard_json(shard));
    for (const RecordedFile& file : recorded_files(run)) files.emplace(file.file, file);
  }
  prepared_.known_files.emplace();
  for (const auto& [path, file] : files) prepared_.known_files->push_back(file);
}

void MergedRun::check_shards() const {
  const std::size_t count = shards_.front().shard.count;
  std::map<std::size_t, const ShardRecord*> seen;
  for (const ShardRecord& shard : shards_) {
    if (shard.shard.count != count) {
      refuse(shard, fmt::format("this is shard {}, and {} holds shard {}: they are parts of different runs",
                                shard.shard.text(), shards_.front().folder, shards_.front().shard.text()));
    }
    const auto [other, is_new] = seen.emplace(shard.shard.number, &shard);
    if (!is_new)
      refuse(shard, fmt::format("this is shard {}, and so is {}", shard.shard.text(), other->second->folder));
  }
  std::vector<std::string> missing;
  for (std::size_t number = 1; number <= count; ++number) {
    if (!seen.contains(number)) missing.push_back(Shard{number, count}.text());
  }
  if (missing.empty()) return;
  throw Error(ErrorKind::usage,
              fmt::format("{} missing: {}{}", missing.size() == 1 ? "a shard is" : "shards are",
                          fmt::join(std::span(missing).first(std::min<std::size_t>(missing.size(), 10)), ", "),
                          missing.size() > 10 ? ", ..." : ""));
}

void MergedRun::check_same_run() const {
  const ShardRecord& first = shards_.front();
  for (const ShardRecord& shard : shards_) {
    const std::vector<std::string> differences =
        manifest_differences(first.manifest, shard.manifest, {.times = false, .simd = false});
    if (!differences.empty()) {
      refuse(shard, fmt::format("is of another run than {}: {}", shard_json(first), joined(differences)));
    }
  }
  const std::vector<std::string> differences = program_differences(first.manifest);
  if (!differences.empty()) {
    refuse(first, fmt::format("was measured by another program than this: {}; merge it with that one, or measure it "
                              "again",
                              joined(differences)));
  }
}

void MergedRun::check_heads() const {
  std::map<HeadId, const ShardRecord*> seen;
  for (const ShardRecord& shard : shards_) {
    for (const HeadOutcome& head : shard.heads) {
      const auto [other, is_new] = seen.emplace(head.head, &shard);
      if (!is_new) refuse(shard, fmt::format("{} is in {} too", described(head.head), other->second->folder));
    }
  }
  for (const HeadTask& task : prepared_.tasks) {
    if (seen.erase(task.head) == 0) {
      throw Error(ErrorKind::usage, fmt::format("{} is in none of the shards", described(task.head)));
    }
  }
  if (!seen.empty())
    refuse(*seen.begin()->second, fmt::format("{} is not a head of the run", described(seen.begin()->first)));
}

// Shards may differ in fields that do not decide figures; such a field is as in all of them, or has its default.
void MergedRun::resolve() {
  std::vector<Setting> settings = recorded_settings(shards_.front().manifest, shard_json(shards_.front()));
  std::set<std::string> simd;
  for (const ShardRecord& shard : shards_) {
    simd.insert(recorded_simd(shard.manifest, shard_json(shard)));
    const std::vector<Setting> others = recorded_settings(shard.manifest, shard_json(shard));
    std::erase_if(settings, [&](const Setting& setting) {
      const Field* field = find_field(config_fields(), setting.field);
      const auto other = std::ranges::find(others, setting.field, &Setting::field);
      const bool same = other != others.end() && other->value == setting.value;
      return field == nullptr || field->name == "output_dir" || field->name == "overwrite" || !same;
    });
    if (manifest_differences(shards_.front().manifest, shard.manifest, {.simd = false}).empty() || !warnings_.empty())
      continue;
    warnings_.push_back(
        fmt::format("the files of the dump have other modification times in {} than in {}, but the same "
                    "sizes; they are taken for copies of one dump",
                    shard.folder, shards_.front().folder));
  }
  settings.push_back({"output_dir", options_.output_dir, ""});
  if (options_.overwrite) settings.push_back({"overwrite", "true", ""});
  config_ = resolve_config(settings);
  prepared_.recorded_simd = fmt::format("{}", fmt::join(simd, ", "));
  if (simd.size() > 1) {
    warnings_.push_back(
        fmt::format("the shards were measured with different instruction sets ({}): their figures agree to "
                    "about 12 digits with those of one run, not to the last",
                    *prepared_.recorded_simd));
  }
}

// Sets the paths of the tasks' files to where the dump is now.
void MergedRun::find_dump() {
  fs::path folder = recorded_folder(shards_.front().manifest, shard_json(shards_.front()));
  const std::optional<std::string> given =
      options_.dataset_local_root ? options_.dataset_local_root : config_.dataset_address;
  if (given && is_store_address(*given)) {
    DumpLayout layout = find_heads_in_store(StoreAddress(*given), config_.model_dir);
    folder = layout.folder;
    prepared_.layout.store = std::move(layout.store);
  } else if (given) {
    folder = find_heads(*given, config_.model_dir).folder;
  }
  for (HeadTask& task : prepared_.tasks) {
    for (fs::path* file : {&task.query_file, &task.key_file})
      *file = folder / file->lexically_relative(prepared_.layout.folder);
  }
}

bool MergedRun::is_dump_there() const {
  const DumpFiles& files = prepared_.layout.files();
  return std::ranges::any_of(prepared_.tasks, [&](const HeadTask& task) { return files.exists(task.query_file); });
}

RunResult MergedRun::result(const RunObserver& observer, const std::stop_token& stop) {
  for (const std::string& warning : warnings_) {
    if (observer.warning) observer.warning(warning);
  }
  HeadOutcomes outcomes;
  for (ShardRecord& shard : shards_) {
    for (HeadOutcome& head : shard.heads) outcomes.heads.push_back(std::move(head));
    shard.heads.clear();
  }
  std::ranges::sort(outcomes.heads, {}, &HeadOutcome::head);
  find_dump();
  const bool is_there = is_dump_there();
  const auto examples = config_.analysis.standard_errors ? common_examples(outcomes.heads) : std::nullopt;
  for (const std::size_t again :
       examples ? without_common_groups(outcomes.heads, *examples) : std::vector<std::size_t>{}) {
    HeadTask& task = *std::ranges::find(prepared_.tasks, outcomes.heads[again].head, &HeadTask::head);
    check_unchanged(task);
    measure_files(task, config_, prepared_.layout.files());
  }
  const bool is_checked = prepared_.rotation && prepared_.rotation->source != RotationSource::inferred &&
                          config_.rotation_check != RotationCheck::off;
  if (is_checked && !is_there && observer.warning) {
    observer.warning(
        fmt::format("{}: the dump is not there, so that the rotation is checked against the known ways "
                    "only; pass `dataset_local_root` to check it as one run does",
                    prepared_.tasks.front().query_file.parent_path().parent_path().string()));
  }
  return concluded_run(std::move(outcomes), prepared_, config_, {.workers = options_.workers, .stop = stop}, observer);
}

// A head is measured again only from the files that it was measured from.
void MergedRun::check_unchanged(const HeadTask& task) const {
  for (const fs::path& file : {task.query_file, task.key_file}) {
    std::error_code missing;
    const std::optional<FileIdentity> listed = prepared_.layout.files().listed(file);
    const std::uintmax_t bytes = listed ? listed->bytes : fs::file_size(file, missing);
    if (missing) {
      throw Error(
          ErrorKind::input,
          fmt::format("{} was captured on other examples than the rest and must be measured again, but this file "
                      "is not there; pass the dump as `dataset_local_root`, or measure shards with a plan",
                      described(task.head)),
          file.string());
    }
    const std::string name = file.parent_path().filename() / file.filename();
    const std::vector<RecordedFile> files = prepared_.known_files.value_or(std::vector<RecordedFile>());
    const auto recorded = std::ranges::find(files, name, &RecordedFile::file);
    if (recorded != files.end() && recorded->bytes != bytes) {
      throw Error(ErrorKind::input,
                  fmt::format("has {} bytes, and had {} when the shards were measured", bytes, recorded->bytes),
                  file.string());
    }
  }
}

RunResources MergedRun::resources(const RunResources& merge) const {
  RunResources all = merge;
  for (const ShardRecord& shard : shards_) {
    const RunResources& own = shard.resources;
    all.cpu_s += own.cpu_s;
    all.peak_rss_bytes = std::max(all.peak_rss_bytes, own.peak_rss_bytes);
    all.shards.push_back({shard.shard.number, shard.host, own.workers, own.wall_s, own.cpu_s, own.peak_rss_bytes});
  }
  return all;
}

}  // namespace attention_plasticity
