// Any text as what a sweep reads. The first byte selects: 0 a sweep.yaml of datasets on the Hub, 1 one of a dump on
// disk, 2 a sweep.json, 3 a run.json whose figures go into one, 4 the address of a store.

#include <algorithm>
#include <set>
#include <vector>

#include "attention_plasticity/store/store_address.h"
#include "attention_plasticity/sweep/sweep_file.h"
#include "attention_plasticity/sweep/sweep_index.h"
#include "target.h"

namespace ap = attention_plasticity;
using ap::fuzz::require;

namespace {

// `root` replaces that of the file, whose patterns would search the disk.
void read_sweep(std::string_view text, const std::optional<std::string>& root) {
  const ap::fuzz::MemoryFile file(text);
  const std::vector<ap::Setting> flags{{"dataset_local_root", root, "--dataset_local_root"}};
  const ap::Sweep sweep = ap::read_sweep(file.path().string(), flags, [](const std::string&) {
    return ap::RepoRefs{{"main", "step-10", "step-9", "x/step-1"}, {"v1", "step-9"}};
  });
  std::set<std::string> names;
  for (const ap::SweepRun& run : sweep.runs) {
    require(names.insert(run.name).second && run.name.find('/') == std::string::npos && !run.name.starts_with('.'));
  }
  require(!names.empty() && names.size() <= 10'000);
}

void read_index(std::string_view text) {
  const std::string written = ap::sweep_json(ap::parse_sweep_index(text, "sweep.json"));
  require(ap::sweep_json(ap::parse_sweep_index(written, "again.json")) == written);
}

void read_figures(std::string_view text) {
  const ap::fuzz::MemoryFile file(text);
  ap::IndexedRun run;
  ap::add_figures(run, file.path());
}

// The recorded form of an address is an address again, without anything more to hide.
void read_address(std::string_view text) {
  if (!ap::is_store_address(text)) return;
  const ap::StoreAddress address(text);
  require(ap::is_store_address(address.shown()) && ap::is_store_address(address.recorded()));
  const ap::StoreAddress again(address.recorded());
  require(again.recorded() == address.recorded() && again.shown() == address.shown());
  address.without_secrets("a message about " + address.full());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = ap::fuzz::text_of(data + 1, size - 1);
  ap::fuzz::succeeds([&] {
    switch (data[0] % 6) {
      case 0:
        read_sweep(text, std::nullopt);
        break;
      case 1:
        read_sweep(text, "dumps/x");
        break;
      case 2:
        read_index(text);
        break;
      case 3:
        read_figures(text);
        break;
      default:
        read_address(text);
    }
  });
  return 0;
}
