#include "attention_plasticity/synth/synthetic_dump.h"

#include <fmt/format.h>

#include <system_error>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/disk_space.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/synth/dump_json.h"
#include "attention_plasticity/synth/dump_size.h"
#include "attention_plasticity/synth/generated_rows.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

void check_disk_space(const fs::path& out, const SynthOptions& options) {
  const std::uint64_t needed = estimated_dump_bytes(options);
  const std::uintmax_t available = free_disk_bytes(out);
  if (needed <= available) return;
  throw Error(ErrorKind::output,
              fmt::format("the dump needs about {}, and {} are free; name a folder on another disk, or choose fewer "
                          "heads or `rows`",
                          size_text(needed), size_text(available)),
              out.string());
}

void make_empty_folder(const fs::path& out) {
  std::error_code error;
  fs::create_directories(out, error);
  if (error) {
    throw Error(ErrorKind::output, fmt::format("the folder cannot be made: {}", error.message()), out.string());
  }
  const bool empty = fs::is_empty(out, error);
  if (error) {
    throw Error(ErrorKind::output, fmt::format("the folder cannot be read: {}", error.message()), out.string());
  }
  if (!empty) {
    throw Error(ErrorKind::output, "the folder is not empty: name a new one, or empty it first", out.string());
  }
}

}  // namespace

void write_synthetic_dump(const fs::path& out, const SynthOptions& options, const SynthObserver& observer) {
  check(options);
  check_disk_space(out, options);
  make_empty_folder(out);
  if (observer.begin) observer.begin(estimated_dump_bytes(options));
  write_file_atomically(out / "_saver_state.json", saver_state_json(options), Durability::unsynced);
  write_file_atomically(out / "config.json", model_config_json(options), Durability::unsynced);
  const auto files_of_layer = static_cast<std::size_t>(options.q_heads) + static_cast<std::size_t>(options.k_heads);
  const std::size_t total = static_cast<std::size_t>(options.layers) * files_of_layer;
  std::size_t done = 0;
  const auto write_head = [&](Side side, HeadNumber head) {
    write_head_file(out / head_folder_name(side, head) / "data.parquet", generate_rows(options, side, head));
    ++done;
    if (observer.file) observer.file(done, total);
  };
  for (int layer = 0; layer < options.layers; ++layer) {
    for (int head = 0; head < options.q_heads; ++head) write_head(Side::query, {layer, head});
    for (int head = 0; head < options.k_heads; ++head) write_head(Side::key, {layer, head});
  }
  write_file_atomically(out / "truth.json", truth_json(options, observer.truth), Durability::unsynced);
}

}  // namespace attention_plasticity
