// Any bytes as what `resume` and `merge` read: a kept head, with and without a digest that fits, and the manifest and
// plan of a run. The first byte selects: 0 a kept head, 1 a manifest, 2 a plan.

#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/run/outcome_bytes.h"
#include "attention_plasticity/run/run_manifest.h"
#include "attention_plasticity/run/run_plan.h"
#include "target.h"

namespace ap = attention_plasticity;
using ap::fuzz::require;

namespace {

// Behind its digest, so that the members are reached.
void read_head(std::string_view bytes) {
  const std::string whole = std::string(bytes) + ap::sha256(bytes);
  require(ap::outcome_bytes(ap::outcome_of_bytes(whole)).size() == whole.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = ap::fuzz::text_of(data + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      ap::fuzz::succeeds([&] { ap::outcome_of_bytes(bytes); });
      ap::fuzz::succeeds([&] { read_head(bytes); });
      break;
    case 1:
      ap::fuzz::succeeds([&] { ap::recorded_run(bytes, "manifest.json"); });
      break;
    default: {
      const ap::fuzz::MemoryFile file(bytes);
      ap::fuzz::succeeds([&] { ap::RunPlan::read(file.path()).run(); });
    }
  }
  return 0;
}
