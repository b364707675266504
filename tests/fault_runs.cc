#include "fault_runs.h"

#include "attention_plasticity/results/run_json.h"
#include "program_support.h"

namespace attention_plasticity {

namespace fs = std::filesystem;

SynthOptions ten_heads(int layers) {
  SynthOptions options;
  options.layers = layers;
  options.q_heads = 10 / layers;
  options.k_heads = 1;
  options.rows = 40;
  options.dim = 4;
  options.examples = 4;
  options.buckets = 4;
  options.bucket_size = 16;
  options.truth_pairs = 0;
  return options;
}

Digests tables_in(const fs::path& folder) {
  Digests digests;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".csv" && fs::is_regular_file(entry.status())) {
      digests[entry.path().filename().string()] = file_sha256(entry.path());
    }
  }
  return digests;
}

Digests tables_of_run_json(const fs::path& folder) {
  const fs::path file = folder / "run.json";
  Digests digests;
  for (const RecordedTable& table : parse_run_record(read_bytes(file), file.string()).tables) {
    digests[table.name] = table.sha256.value_or("none");
  }
  return digests;
}

}  // namespace attention_plasticity
