// The program beside a Hub on loopback that serves the suite's dump.

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/hub/loopback_hub_testing.h"
#include "program_support.h"

namespace attention_plasticity {

inline const HubRequestPattern of_storage{HubHost::storage, "", ""};
inline const HubRequestPattern of_files{std::nullopt, "/resolve", ""};

// The suite's dump as branch main of org/dump; 8 query heads and 4 key heads.
class ProgramHub : public ProgramTest {
 protected:
  ProgramHub() { serve("main", ""); }

  void serve(const std::string& branch, const std::string& below, const std::filesystem::path& folder = dump()) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string path = entry.path().lexically_relative(folder).generic_string();
      hub_.add_file("org/dump", branch, below + path, read_bytes(entry.path()), path.ends_with(".parquet"));
    }
  }

  // When a variable is set twice, the first value counts.
  Surroundings here(const std::vector<std::string>& environment = {}) const {
    Surroundings surroundings;
    surroundings.folder = here_.path();
    surroundings.environment = environment;
    for (const std::string& variable :
         {fmt::format("HF_ENDPOINT={}", hub_.endpoint()), fmt::format("HF_HOME={}", (here_ / "home").string()),
          fmt::format("HF_HUB_CACHE={}", cache().string()), std::string("HF_TOKEN="), std::string("HF_HUB_OFFLINE="),
          std::string("no_proxy=127.0.0.1,127.0.0.2")}) {
      surroundings.environment.push_back(variable);
    }
    return surroundings;
  }

  static std::vector<std::string> hub_words(const std::vector<std::string>& others = {}) {
    std::vector<std::string> words{"analyze", "--dataset_name", "org/dump", "--output_dir", "out"};
    words.insert(words.end(), others.begin(), others.end());
    return words;
  }

  Outcome from_hub(const std::vector<std::string>& flags = {}, const std::vector<std::string>& environment = {}) const {
    return run(hub_words(flags), here(environment));
  }
  Outcome download(const std::vector<std::string>& flags = {}, const std::vector<std::string>& environment = {}) const {
    std::vector<std::string> words{"download", "org/dump"};
    words.insert(words.end(), flags.begin(), flags.end());
    return run(words, here(environment));
  }

  // The last line of standard error, without the name of the program.
  std::string complaint(int code, const Outcome& outcome) const {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    const std::string line = last_line(outcome.err);
    EXPECT_TRUE(line.starts_with("attention-plasticity: ")) << outcome.err;
    return line.substr(std::string("attention-plasticity: ").size());
  }

  std::filesystem::path cache() const { return here_ / "cache"; }
  std::filesystem::path snapshot() {
    return cache() / "datasets--org--dump/snapshots" / hub_.commit("org/dump", "main");
  }
  std::size_t bytes_sent() const {
    std::size_t bytes = 0;
    for (const HubRequest& request : hub_.requests(of_storage)) bytes += request.body_bytes;
    return bytes;
  }
  std::vector<std::string> heads_in_cache() {
    std::vector<std::string> heads;
    for (const std::string& name : names_in(snapshot())) {
      if (std::filesystem::exists(snapshot() / name / "data.parquet")) heads.push_back(name);
    }
    return heads;
  }

  LoopbackHub hub_;
};

}  // namespace attention_plasticity
