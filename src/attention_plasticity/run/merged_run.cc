#include "attention_plasticity/run/merged_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/outcomes/run_manifest.h"
#include "attention_plasticity/outcomes/shard.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

std::string shard_json(const SavedShard& shard) { return (fs::path(shard.folder) / "shard.json").string(); }

[[noreturn]] void refuse(const SavedShard& shard, const std::string& message) {
  throw Error(ErrorKind::usage, message, shard_json(shard));
}

std::string text_of(const HeadId& head) { return fmt::format("layer {} q_head {}", head.layer, head.q_head); }

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(std::span(lines).first(std::min<std::size_t>(lines.size(), 5)), "; "));
}

void check_numbers(const std::vector<SavedShard>& shards) {
  const std::size_t count = shards.front().shard.count;
  std::map<std::size_t, const SavedShard*> seen;
  for (const SavedShard& shard : shards) {
    if (shard.shard.count != count) {
      refuse(shard, fmt::format("this is shard {}, and {} holds shard {}: they are of different runs",
                                shard.shard.text(), shards.front().folder, shards.front().shard.text()));
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

void check_same_run(const std::vector<SavedShard>& shards) {
  const SavedShard& first = shards.front();
  for (const SavedShard& shard : shards) {
    const std::vector<std::string> differences =
        manifest_differences(first.heads.manifest, shard.heads.manifest, {.times = false, .simd = false});
    if (!differences.empty()) {
      refuse(shard, fmt::format("is of another run than {}: {}", shard_json(first), joined(differences)));
    }
  }
  const std::vector<std::string> differences = program_differences(first.heads.manifest);
  if (!differences.empty()) {
    refuse(first, fmt::format("was measured by another program than this: {}; merge it with that one, or measure it "
                              "again",
                              joined(differences)));
  }
}

// The heads of all shards, by head: those of the run, each once.
std::vector<HeadOutcome> heads_of(std::vector<SavedShard>& shards, const PreparedRun& prepared) {
  std::map<HeadId, const SavedShard*> seen;
  std::vector<HeadOutcome> heads;
  for (SavedShard& shard : shards) {
    for (HeadOutcome& head : shard.heads.heads) {
      const auto [other, is_new] = seen.emplace(head.head, &shard);
      if (!is_new) refuse(shard, fmt::format("{} is in {} too", text_of(head.head), other->second->folder));
      check_outcome(head, prepared);
      heads.push_back(std::move(head));
    }
    shard.heads.heads.clear();
  }
  for (const HeadTask& task : prepared.tasks) {
    if (!seen.contains(task.head)) {
      throw Error(ErrorKind::usage, fmt::format("{} is in none of the shards", text_of(task.head)));
    }
  }
  std::ranges::sort(heads, {}, &HeadOutcome::head);
  return heads;
}

// The files of all shards: a shard of a dump on the Hub has only its own on disk.
std::vector<RecordedFile> files_of(const std::vector<SavedShard>& shards) {
  std::map<fs::path, RecordedFile> files;
  for (const SavedShard& shard : shards) {
    const PreparedRun run = recorded_run(shard.heads.manifest, shard_json(shard));
    for (const RecordedFile& file : recorded_files(run)) files.emplace(file.file, file);
  }
  std::vector<RecordedFile> list;
  list.reserve(files.size());
  for (auto& [name, file] : files) list.push_back(std::move(file));
  return list;
}

// Shards may differ in fields that do not decide figures; such a field is as in all of them, or has its default. Paths
// of outputs are this call's.
RunConfig config_of(const std::vector<SavedShard>& shards, const std::string& output_dir, bool overwrite) {
  const auto is_output = [](const Setting& setting) {
    const Field* field = find_field(config_fields(), setting.field);
    return field == nullptr || field->group == "The outputs";
  };
  std::vector<Setting> settings = recorded_settings(shards.front().heads.manifest, shard_json(shards.front()));
  std::erase_if(settings, is_output);
  for (const SavedShard& shard : shards) {
    const std::vector<Setting> others = recorded_settings(shard.heads.manifest, shard_json(shard));
    std::erase_if(settings, [&](const Setting& setting) {
      const auto other = std::ranges::find(others, setting.field, &Setting::field);
      return other == others.end() || other->value != setting.value;
    });
  }
  settings.push_back({"output_dir", output_dir, ""});
  if (overwrite) settings.push_back({"overwrite", "true", ""});
  return resolve_config(settings);
}

void warn_of_copies(const std::vector<SavedShard>& shards, const RunObserver& told) {
  const SavedShard& first = shards.front();
  for (const SavedShard& shard : shards) {
    if (manifest_differences(first.heads.manifest, shard.heads.manifest, {.simd = false}).empty()) continue;
    told.warning(
        fmt::format("the files of the dump have other modification times or another folder in {} than in {}, but the "
                    "same sizes; they are taken for copies of one dump",
                    shard.folder, first.folder));
    return;
  }
}

}  // namespace

FinishedRun merge_shards(const std::vector<fs::path>& folders, const std::string& output_dir, bool overwrite,
                         const RunObserver& observer, RunResources& resources) {
  const RunObserver told = serialized(observer);
  if (folders.empty()) throw Error(ErrorKind::usage, "there are no shards to merge");
  std::vector<SavedShard> shards;
  shards.reserve(folders.size());
  for (const fs::path& folder : folders) shards.push_back(read_shard(folder));
  std::ranges::stable_sort(shards, {}, [](const SavedShard& shard) { return shard.shard.number; });
  check_numbers(shards);
  check_same_run(shards);

  FinishedRun run;
  run.config = config_of(shards, output_dir, overwrite);
  run.prepared = recorded_run(shards.front().heads.manifest, shard_json(shards.front()));
  run.prepared.known_files = files_of(shards);
  std::set<std::string> simd;
  for (const SavedShard& shard : shards) {
    simd.insert(recorded_simd(shard.heads.manifest, shard_json(shard)));
    const RunResources& own = shard.resources;
    resources.cpu_s += own.cpu_s;
    resources.peak_rss_bytes = std::max(resources.peak_rss_bytes, own.peak_rss_bytes);
    resources.shards.push_back(
        {shard.shard.number, shard.host, own.workers, own.wall_s, own.cpu_s, own.peak_rss_bytes});
  }
  run.prepared.recorded_simd = fmt::format("{}", fmt::join(simd, ", "));
  warn_of_copies(shards, told);
  if (simd.size() > 1) {
    told.warning(
        fmt::format("the shards were measured with different instruction sets ({}): their figures agree to about 12 "
                    "digits with those of one run, not to the last",
                    *run.prepared.recorded_simd));
  }
  HeadOutcomes outcomes{heads_of(shards, run.prepared), false, {}};
  run.result = conclude(std::move(outcomes), run.prepared, run.config, told);
  return run;
}

}  // namespace attention_plasticity
