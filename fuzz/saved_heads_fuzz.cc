// Records of other processes, read and then used: what `resume`, `merge` and the driver of an engine take. The first
// byte selects: 0 a saved head, 1 a manifest, 2 what a worker returned, 3 a shard.json, 4 changes to a sound record,
// which gets a right digest and is merged into a run with all its tables, 5 changes to its manifest before a merge.

#include <filesystem>
#include <fstream>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/outcomes/outcome_bytes.h"
#include "attention_plasticity/outcomes/run_manifest.h"
#include "attention_plasticity/outcomes/shard.h"
#include "attention_plasticity/run/merged_run.h"
#include "attention_plasticity/run/results.h"
#include "attention_plasticity/run/worker.h"
#include "target.h"

namespace ap = attention_plasticity;
using ap::fuzz::require;

namespace {

// Behind its digest, so that the members are reached.
void read_head(std::string_view bytes) {
  const std::string whole = std::string(bytes) + ap::sha256(bytes);
  require(ap::outcome_bytes(ap::outcome_of_bytes(whole)).size() == whole.size());
}

void read_group(std::string_view bytes) {
  const std::string written = ap::MeasuredGroup::of_bytes(bytes).bytes();
  require(ap::MeasuredGroup::of_bytes(written).bytes() == written);
}

// A run with one head of two components and three groups of documents.
ap::PreparedRun small_run() {
  ap::PreparedRun run;
  run.layout.folder = "dump";
  run.layout.queries = {{0, 0}};
  run.layout.keys = {{0, 0}};
  run.grid = {1, 1, 1};
  run.model_name = "dump";
  run.tasks.emplace_back();
  run.rotation = ap::DumpRotation{ap::ModelRotation::none()};
  run.reference_documents = {{0, 2}};
  run.known_files.emplace();
  return run;
}

ap::HeadOutcome small_outcome() {
  ap::HeadOutcome outcome;
  outcome.queries = ap::SideRecord{{.input = ap::InputDigest{100, "aa", ""}, .rows = 3}, {}};
  outcome.keys = outcome.queries;
  ap::MeasuredHead& measured = outcome.measured.emplace();
  measured.result.width = 2;
  measured.result.component_r_squared = {0.5, 0.25};
  measured.result.component_weight = {0.5, 0.5};
  measured.result.plasticity = {0.5, {{1, 0, 0.5, 3}}};
  measured.result.exact = ap::ExactPlasticity{0.5, 0.5, 1, 1, 4, {{0, 1, 0.5, 1, 1, 4}}};
  measured.result.times.resize(1);
  measured.result.examples = {0, 1, 2};
  measured.without_group = {{0, 1, 2}, {0.5, 0.6, 0.7}, {0.1, 0.2, 0.3}};
  return outcome;
}

void write(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// Replaces bytes: two for the place, one for the value.
std::string changed(std::string text, std::string_view changes) {
  for (; changes.size() >= 3; changes.remove_prefix(3)) {
    const auto place =
        static_cast<std::size_t>(static_cast<unsigned char>(changes[0])) * 256 + static_cast<unsigned char>(changes[1]);
    text[place % text.size()] = changes[2];
  }
  return text;
}

// Merges the shard of one head, and makes every table of the run.
void merge(const std::string& manifest, const std::string& record) {
  static const ap::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "heads");
  write(folder / "shard.json",
        R"({"schema": 2, "shard": 1, "of": 1, "host": "h", "heads": {"done": 1, "failed": 0},
            "resources": {"workers": 1, "wall_s": 1, "cpu_s": 1, "peak_rss_bytes": 1}})");
  write(folder / "heads" / "manifest.json", manifest);
  write(folder / "heads" / "l00h00.head", record);
  ap::RunResources resources;
  const ap::FinishedRun run = ap::merge_shards({folder.path()}, "out", false, {}, resources);
  for (const ap::ResultTable& table : ap::result_tables()) {
    ap::table_text(table.id, run.result.results, run.config, run.result.without_group);
    require(std::filesystem::path(run.config.tables[table.id]).parent_path() == "out");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string manifest = ap::manifest_text(small_run(), {});
  static const std::string record = ap::outcome_bytes(small_outcome());
  if (size == 0) return 0;
  const std::string_view bytes = ap::fuzz::text_of(data + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      ap::fuzz::succeeds([&] { ap::outcome_of_bytes(bytes); });
      ap::fuzz::succeeds([&] { read_head(bytes); });
      break;
    case 1:
      ap::fuzz::succeeds([&] { ap::recorded_run(bytes, "manifest.json"); });
      break;
    case 2:
      ap::fuzz::succeeds([&] { read_group(bytes); });
      break;
    case 3: {
      static const ap::TemporaryFolder folder;
      write(folder / "shard.json", bytes);
      ap::fuzz::succeeds([&] { ap::read_shard(folder.path()); });
      break;
    }
    case 4: {
      const std::string covered = changed(record.substr(0, record.size() - 64), bytes);
      const bool merged = ap::fuzz::succeeds([&] { merge(manifest, covered + ap::sha256(covered)); });
      require(merged || size > 3);
      break;
    }
    default:
      ap::fuzz::succeeds([&] { merge(changed(manifest, bytes), record); });
  }
  return 0;
}
