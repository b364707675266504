#include "same_results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "attention_plasticity/dump/odd_parquet_testing.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

HeadRows without_example(const HeadRows& rows, std::uint64_t example) {
  HeadRows kept;
  kept.width = rows.width;
  kept.window = rows.window;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.example[i] == example) continue;
    kept.bucket.push_back(rows.bucket[i]);
    kept.example.push_back(rows.example[i]);
    kept.position.push_back(rows.position[i]);
    const auto begin = rows.vectors.begin() + static_cast<std::ptrdiff_t>(i * rows.width);
    kept.vectors.insert(kept.vectors.end(), begin, begin + static_cast<std::ptrdiff_t>(rows.width));
  }
  return kept;
}

}  // namespace

void expect_same_results(const fs::path& one, const fs::path& other) {
  for (const ResultTable& table : result_tables()) {
    const fs::path file = std::string(table.file);
    ASSERT_EQ(fs::exists(one / file), fs::exists(other / file)) << file;
    if (!fs::exists(one / file)) continue;
    EXPECT_TRUE(read_bytes(one / file) == read_bytes(other / file)) << file;
  }
  auto run = nlohmann::json::parse(read_bytes(one / "run.json"));
  auto other_run = nlohmann::json::parse(read_bytes(other / "run.json"));
  run.erase("resources");
  other_run.erase("resources");
  EXPECT_EQ(run, other_run) << nlohmann::json::diff(run, other_run).dump(1);
}

void give_other_documents(const fs::path& dump) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(dump)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  for (std::size_t i = 0; i < folders.size(); i += 2) {
    const fs::path file = folders[i] / "data.parquet";
    const Side side = folders[i].string().ends_with('q') ? Side::query : Side::key;
    const HeadRows rows = read_head_file(file, side).rows;
    std::vector<std::uint64_t> examples(rows.example.begin(), rows.example.end());
    std::ranges::sort(examples);
    write_head_file(file, without_example(rows, examples[(i * examples.size() / 2 / folders.size())]));
  }
}

}  // namespace attention_plasticity
