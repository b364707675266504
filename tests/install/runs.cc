// Whole dumps, each in one call: from disk and, where the environment names an endpoint, from the Hub.
//
//   runs DUMP [ORG/NAME]

#include <attention_plasticity/analyze_dump.h>
#include <attention_plasticity/error.h>

#include <cstdio>
#include <cstdlib>

namespace ap = attention_plasticity;

static void print(const ap::AnalyzedDump& dump) {
  const ap::ModelMean model = dump.model_mean("ap_exact");
  std::printf("%s: %zu heads, %zu failed, ap_exact %.6f +- %.6f\n", dump.model_name().c_str(), dump.heads().size(),
              dump.failures().size(), model.mean, model.error);
}

int main(int argc, char** argv) try {
  const ap::AnalyzedDump on_disk = ap::analyze_dump(ap::DumpFolder{argv[1], {}});
  print(on_disk);
  on_disk.save("saved");
  const auto saved = ap::read_table("saved", ap::TableId::metrics).numbers("ap_exact");
  if (saved != on_disk.table(ap::TableId::metrics).numbers("ap_exact")) return 1;
  if (argc < 3) return 0;

  ap::HubDataset dataset{.name = argv[2]};
  dataset.settings = ap::hub_settings([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  });
  ap::RunObserver observer;
  observer.note = [](const std::string& note) { std::printf("note: %s\n", note.c_str()); };
  const ap::AnalyzedDump from_hub = ap::analyze_dump(dataset, {}, observer);
  print(from_hub);
  return from_hub.model_mean("ap_exact").mean == on_disk.model_mean("ap_exact").mean ? 0 : 1;
} catch (const ap::Error& error) {
  std::printf("%s: %s\n", error.file().c_str(), error.what());
  return ap::exit_code(error.kind());
}
