#include "attention_plasticity/run/run_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <span>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/run/read_ahead.h"
#include "attention_plasticity/run/run_manifest.h"
#include "attention_plasticity/store/store.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr int plan_schema = 1;

// Adds the examples of a file. False when it names none. A file that cannot be read adds nothing: its heads fail.
bool add_examples(const DumpFiles& files, const ReadAhead::File& file, std::set<std::uint64_t>& all) {
  try {
    const HeadTokens tokens = read_head_tokens(files.open(file.path), file.side);
    if (tokens.example.empty()) return false;
    all.insert(tokens.example.begin(), tokens.example.end());
  } catch (const Error&) {
    return true;
  }
  return true;
}

}  // namespace

RunPlan RunPlan::of(const PreparedRun& prepared, const RunConfig& config) {
  RunPlan plan{manifest_text(prepared, config), {}, {}};
  if (!config.analysis.standard_errors) return plan;
  std::set<std::uint64_t> all;
  bool names_all = true;
  std::set<fs::path> seen;
  std::vector<ReadAhead::File> wanted = files_of(prepared.tasks);
  std::erase_if(wanted, [&](const ReadAhead::File& file) { return !seen.insert(file.path).second; });
  const DumpFiles& files = prepared.layout.files();
  for_each_file(files, wanted, HeadPart::tokens,
                [&](const ReadAhead::File& file) { names_all = names_all && add_examples(files, file, all); });
  if (!names_all) return plan;
  plan.examples.assign(all.begin(), all.end());
  return plan;
}

RunPlan RunPlan::read(const std::string& path_or_address) {
  const bool is_stored = is_store_address(path_or_address);
  const std::string file = is_stored ? StoreAddress(path_or_address).shown() : path_or_address;
  const std::string text = is_stored ? read_stored_file(path_or_address, most_record_bytes)
                                     : read_text_file(path_or_address, most_record_bytes);
  const auto record = parse_json_object<Json>(text, {.file = file});
  try {
    if (record.at("schema") != plan_schema)
      throw Error(ErrorKind::input, "is a plan of another version of the program", file);
    RunPlan plan{json_text(record.at("manifest")), recorded_list<std::vector<std::uint64_t>>(record.at("examples")),
                 file};
    plan.run();
    return plan;
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::input, "is not the plan of a run; `plan_only` writes one", file);
  }
}

std::string RunPlan::text() const {
  const Json json{{"schema", plan_schema}, {"examples", examples}, {"manifest", Json::parse(manifest)}};
  return json_text(json, 1) + "\n";
}

PreparedRun RunPlan::run() const { return recorded_run(manifest, file); }

void RunPlan::check(const PreparedRun& prepared, const RunConfig& config) const {
  // The machine that made the plan measured nothing, and may have another instruction set.
  const std::vector<std::string> differences =
      manifest_differences(manifest, manifest_text(prepared, config), {.times = false, .simd = false});
  if (differences.empty()) return;
  throw Error(ErrorKind::usage,
              fmt::format("the plan is of another run: {}; make it again with `plan_only`",
                          fmt::join(std::span(differences).first(std::min<std::size_t>(differences.size(), 5)), "; ")),
              file);
}

std::string plan_json_path(const RunConfig& config) {
  return fs::path(run_json_path(config)).replace_filename("plan.json").string();
}

}  // namespace attention_plasticity
