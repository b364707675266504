#include "attention_plasticity/outcomes/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/outcomes/run_manifest.h"
#include "attention_plasticity/results/cost_json.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr int shard_schema = 2;
constexpr std::size_t most_shards = 1'000'000;

// A whole number from 1 on; 0: not one.
std::size_t counted(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

constexpr const char* heads_name = "heads";

using KvGroup = std::pair<int, int>;  // layer and key head

// shard.json without the heads.
struct ShardHeader {
  Shard shard;
  std::size_t done = 0;
  std::size_t failed = 0;
  std::string host;
  RunResources resources;
};

ShardHeader read_header(const fs::path& file) {
  const auto json = parse_json_object<Json>(read_text_file(file, most_record_bytes), {.file = file.string()});
  try {
    if (json.at("schema") != shard_schema) {
      throw Error(ErrorKind::input, "is a shard of another version of the program", file.string());
    }
    const Json& resources = json.at("resources");
    ShardHeader header{{recorded<std::size_t>(json.at("shard")), recorded<std::size_t>(json.at("of"))},
                       recorded<std::size_t>(json.at("heads").at("done")),
                       recorded<std::size_t>(json.at("heads").at("failed")),
                       json.at("host").get<std::string>(),
                       {recorded<int>(resources.at("workers")), resources.at("wall_s").get<double>(),
                        resources.at("cpu_s").get<double>(), recorded<std::uint64_t>(resources.at("peak_rss_bytes"))}};
    return header;
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::input, "is not the shard.json of a shard", file.string());
  }
}

// None when there is no shard.json.
std::optional<ShardHeader> earlier_shard(const RunConfig& config) {
  const std::string file = shard_json_path(config);
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) return std::nullopt;
  return read_header(file);
}

}  // namespace

Shard Shard::of(std::string_view text) {
  const std::size_t slash = text.find('/');
  const Shard shard{counted(text.substr(0, slash)),
                    slash == std::string_view::npos ? 0 : counted(text.substr(slash + 1))};
  if (shard.number == 0 || shard.count == 0) {
    throw Error(ErrorKind::usage, fmt::format("{} is not a shard; 3/16 is the third of 16", quoted_text(text)));
  }
  if (shard.number > shard.count || shard.count > most_shards) {
    throw Error(ErrorKind::usage, fmt::format("{}: the shards of {} are 1 to {}{}", text, shard.count, shard.count,
                                              shard.count > most_shards ? ", and at most a million" : ""));
  }
  return shard;
}

std::string Shard::text() const { return fmt::format("{}/{}", number, count); }

std::vector<HeadTask> shard_tasks(const PreparedRun& prepared, const Shard& shard) {
  std::map<KvGroup, std::uint64_t> weights;
  for (const HeadTask& task : prepared.tasks) {
    const auto [group, is_new] = weights.try_emplace({task.head.layer, task.head.k_head}, 0);
    if (prepared.layout.files().are_remote()) {
      const auto bytes = [&](const HeadSide& side) {
        const auto file = prepared.layout.files().listed(prepared.layout.file(side.side, side.head));
        return file ? file->bytes : 0;
      };
      group->second += bytes(queries_of(task.head)) + (is_new ? bytes(keys_of(task.head)) : 0);
      continue;
    }
    // What is on disk of a dump on the Hub differs between machines.
    group->second += prepared.hub ? 1 : task.query_rows + (is_new ? task.key_rows : 0);
  }
  std::vector<std::pair<KvGroup, std::uint64_t>> groups(weights.begin(), weights.end());
  std::ranges::stable_sort(groups, std::ranges::greater{}, &std::pair<KvGroup, std::uint64_t>::second);
  // By load, then by number.
  std::set<std::pair<std::uint64_t, std::size_t>> loads;
  for (std::size_t number = 1; number <= shard.count; ++number) loads.emplace(0, number);
  std::set<KvGroup> own;
  for (const auto& [group, weight] : groups) {
    auto least = loads.extract(loads.begin());
    if (least.value().second == shard.number) own.insert(group);
    // A file that cannot be read counts as well, so that such heads do not all go to one shard.
    least.value().first += std::max<std::uint64_t>(weight, 1);
    loads.insert(std::move(least));
  }
  std::vector<HeadTask> tasks;
  for (const HeadTask& task : prepared.tasks) {
    if (own.contains({task.head.layer, task.head.k_head})) tasks.push_back(task);
  }
  return tasks;
}

std::string shard_json_path(const RunConfig& config) {
  return fs::path(run_json_path(config)).replace_filename("shard.json").string();
}

fs::path shard_heads_folder(const RunConfig& config) {
  return fs::path(shard_json_path(config)).replace_filename(heads_name);
}

std::vector<std::string> shard_record_files() { return {"shard.json", fmt::format("{}/manifest.json", heads_name)}; }

void check_earlier_shard(const PreparedRun& prepared, const RunConfig& config, const Shard& shard) {
  if (config.overwrite) return;
  const std::string file = shard_json_path(config);
  constexpr std::string_view advice = "pass `overwrite` to replace it, or another `output_dir`";
  std::optional<ShardHeader> earlier;
  std::string model;
  try {
    earlier = earlier_shard(config);
    if (!earlier) return;
    const fs::path manifest = shard_heads_folder(config) / "manifest.json";
    model = recorded_run(read_text_file(manifest, most_record_bytes), manifest.string()).model_name;
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, fmt::format("the shard in this folder cannot be read: {}; {}", error.what(), advice),
                file);
  }
  if (earlier->shard.number != shard.number || earlier->shard.count != shard.count) {
    throw Error(
        ErrorKind::usage,
        fmt::format("this is shard {}, and shard {} is asked for; {}", earlier->shard.text(), shard.text(), advice),
        file);
  }
  if (model == prepared.model_name) return;
  throw Error(ErrorKind::usage,
              fmt::format("this is a shard of {}, and this run is of {}; {}", shown_text(model),
                          shown_text(prepared.model_name), advice),
              file);
}

bool is_shard_complete(const PreparedRun& prepared, const RunConfig& config, const Shard& shard, bool are_heads_here) {
  try {
    const std::optional<ShardHeader> earlier = earlier_shard(config);
    if (!earlier || earlier->failed > 0) return false;
    if (earlier->shard.number != shard.number || earlier->shard.count != shard.count) return false;
    const fs::path manifest = shard_heads_folder(config) / "manifest.json";
    if (!manifest_differences(read_text_file(manifest, most_record_bytes), manifest_text(prepared, config)).empty()) {
      return false;
    }
    if (are_heads_here) read_shard(fs::path(shard_json_path(config)).parent_path());
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<std::string> write_shard(const RunConfig& config, const Shard& shard, std::size_t done, std::size_t failed,
                                     const std::string& host, const RunResources& resources) {
  const std::string file = shard_json_path(config);
  const Json json{{"schema", shard_schema},
                  {"shard", shard.number},
                  {"of", shard.count},
                  {"host", host},
                  {"heads", {{"done", done}, {"failed", failed}}},
                  {"resources", cost_json(resources)}};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(shard_heads_folder(config))) files.push_back(entry.path().string());
  std::ranges::sort(files);
  write_file_atomically(file, json_text(json, 1) + "\n");
  files.push_back(file);
  return files;
}

SavedShard read_shard(const fs::path& folder) {
  const fs::path file = folder / "shard.json";
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown)) {
    const bool begun = fs::exists(folder / heads_name, unknown);
    throw Error(ErrorKind::input,
                begun ? "this shard is not complete; measure the rest of it with `resume`"
                      : "there is no shard.json in this folder, so it is not a shard",
                folder.string());
  }
  ShardHeader header = read_header(file);
  SavedShard shard{header.shard, read_saved_heads(folder / heads_name), std::move(header.host), header.resources,
                   folder.string()};
  if (shard.heads.damaged > 0 || shard.heads.heads.size() != header.done + header.failed) {
    throw Error(ErrorKind::input,
                fmt::format("holds {} of {} heads that can be read; measure this shard again with `resume`",
                            shard.heads.heads.size(), header.done + header.failed),
                (folder / heads_name).string());
  }
  return shard;
}

}  // namespace attention_plasticity
