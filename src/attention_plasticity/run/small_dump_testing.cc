#include "attention_plasticity/run/small_dump_testing.h"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <random>
#include <system_error>

#include "attention_plasticity/dump/head_file_writer.h"

namespace attention_plasticity {

namespace fs = std::filesystem;

void write_text(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) throw std::system_error(errno, std::generic_category(), file.string());
}

std::string read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::system_error(errno, std::generic_category(), file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

HeadRows small_rows(std::uint64_t seed, const std::vector<std::uint64_t>& examples) {
  constexpr int buckets = 3;
  constexpr int rows_per_bucket = 4;
  constexpr int bucket_size = 16;
  std::mt19937_64 generator(seed);
  const auto noise = [&] { return static_cast<float>(generator() >> 40U) * 0x1p-23F - 1.0F; };
  HeadRows rows;
  rows.width = 4;
  for (const std::uint64_t example : examples) {
    for (int i = 0; i < buckets * rows_per_bucket; ++i) {
      const int bucket = i / rows_per_bucket;
      const int position = bucket * bucket_size + 3 * (i % rows_per_bucket);
      rows.bucket.push_back(bucket);
      rows.example.push_back(example);
      rows.position.push_back(position);
      for (std::size_t c = 0; c < rows.width; ++c) {
        rows.vectors.push_back(noise() + 0.01F * static_cast<float>(position) * static_cast<float>(c));
      }
    }
  }
  return rows;
}

SmallDump::SmallDump(int layers, int q_heads, int k_heads) {
  std::uint64_t seed = 0;
  for (int layer = 0; layer < layers; ++layer) {
    for (int head = 0; head < q_heads; ++head) write(Side::query, layer, head, small_rows(++seed));
    for (int head = 0; head < k_heads; ++head) write(Side::key, layer, head, small_rows(++seed));
  }
}

fs::path SmallDump::file(Side side, int layer, int head) const {
  return root() / head_folder_name(side, {layer, head}) / "data.parquet";
}

void SmallDump::write(Side side, int layer, int head, const HeadRows& rows) const {
  write_head_file(file(side, layer, head), rows);
}

void SmallDump::remove(Side side, int layer, int head) const { fs::remove(file(side, layer, head)); }

RunConfig SmallDump::config(Flags flags) const {
  std::vector<Setting> settings{flag_setting("--dataset_local_root", root().string()),
                                flag_setting("--output_dir", output().string()), flag_setting("--num_triples", "0")};
  for (const auto& [flag, value] : flags) settings.push_back(flag_setting(flag, value));
  return resolve_config(settings);
}

RunObserver Observed::observer() {
  return {[this](const HeadEvent& event) { ended.emplace_back(event.ended, event.total); },
          [this](const std::string& note) { notes.push_back(note); },
          [this](const std::string& warning) { warnings.push_back(warning); },
          {}};
}

Refusal refusal_of(const RunConfig& config) {
  try {
    prepare_run(config);
  } catch (const Error& error) {
    return {error.kind(), error.what(), error.file()};
  }
  return {};
}

RunResult run_of(const RunConfig& config, int workers) {
  Observed ignored;
  return run_of(config, workers, ignored);
}

RunResult run_of(const RunConfig& config, int workers, Observed& observed) {
  return run_prepared(prepare_run(config), config, {.workers = workers}, observed.observer());
}

}  // namespace attention_plasticity
