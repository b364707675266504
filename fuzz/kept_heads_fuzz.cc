// Any bytes as what `resume` and `merge` read: a kept head, with and without a digest that fits, and the manifest and
// plan of a run; and as what machines hand each other: shards, and parts that a worker measured. The first byte
// selects: 0 a kept head, 1 a manifest, 2 a plan, 3 the heads of a shard, 4 a measured part, 5 a shard.json.

#include <fstream>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/run/outcome_bytes.h"
#include "attention_plasticity/run/part_worker.h"
#include "attention_plasticity/run/run_manifest.h"
#include "attention_plasticity/run/run_plan.h"
#include "attention_plasticity/run/shard.h"
#include "target.h"

namespace ap = attention_plasticity;
using ap::fuzz::require;

namespace {

// Behind its digest, so that the members are reached.
void read_head(std::string_view bytes) {
  const std::string whole = std::string(bytes) + ap::sha256(bytes);
  require(ap::outcome_bytes(ap::outcome_of_bytes(whole)).size() == whole.size());
}

void read_heads(std::string_view bytes) {
  require(ap::outcomes_bytes(ap::outcomes_of_bytes(bytes)).size() == bytes.size());
}

// The bytes of one outcome, with its size and its digest, so that they need not be guessed.
std::string as_heads(std::string_view outcome) {
  const std::string whole = std::string(outcome) + ap::sha256(outcome);
  const std::uint64_t size = whole.size();
  return "APshard1" + std::string(reinterpret_cast<const char*>(&size), sizeof size) + whole;
}

void read_part(std::string_view bytes) {
  const std::string written = ap::MeasuredPart::of_bytes(bytes).bytes();
  require(ap::MeasuredPart::of_bytes(written).bytes() == written);
}

void read_shard(std::string_view bytes) {
  static const ap::TemporaryFolder folder;
  std::ofstream(folder / "shard.json", std::ios::binary) << bytes;
  std::ofstream(folder / "shard.heads", std::ios::binary) << "APshard1";
  ap::read_shard(folder.path());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
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
    case 2: {
      const ap::fuzz::MemoryFile file(bytes);
      ap::fuzz::succeeds([&] { ap::RunPlan::read(file.path()).run(); });
      break;
    }
    case 3:
      ap::fuzz::succeeds([&] { read_heads(bytes); });
      ap::fuzz::succeeds([&] { read_heads(as_heads(bytes)); });
      break;
    case 4:
      ap::fuzz::succeeds([&] { read_part(bytes); });
      break;
    default:
      ap::fuzz::succeeds([&] { read_shard(bytes); });
  }
  return 0;
}
