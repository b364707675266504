// Dumps from the Hub, served on loopback.

#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attention_plasticity/results/schema.h"
#include "program_hub_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

TEST_F(ProgramHub, ShardsFetchTheirOwnFilesAndMergeToOneRun) {
  std::size_t files = 0;
  for (const std::string number : {"1", "2"}) {
    const fs::path own_cache = here_ / ("cache-" + number);
    const Outcome shard =
        run({"analyze", "--dataset_name", "org/dump", "--shard", number + "/2", "-o", number, "--quiet"},
            here({"HF_HUB_CACHE=" + own_cache.string()}));
    ASSERT_EQ(shard.code, 0) << shard.err;
    const fs::path heads = own_cache / "datasets--org--dump/snapshots" / hub_.commit("org/dump", "main");
    for (const std::string& name : names_in(heads)) files += fs::exists(heads / name / "data.parquet") ? 1 : 0;
  }
  // Both need the first query and key head of the two layers: on these, theta is refined.
  EXPECT_EQ(files, 12U + 4U) << "no other file is fetched twice";
  const Outcome merged = run({"merge", "out", "2", "1", "--quiet"});
  ASSERT_EQ(merged.code, 0) << merged.err;
  ASSERT_EQ(analyze({"--output_dir", "disk", "--quiet"}).code, 0);
  for (const std::string& name : names_in(here_ / "disk")) {
    if (!name.ends_with(".csv")) continue;
    EXPECT_EQ(read_bytes(here_ / "out" / name), read_bytes(here_ / "disk" / name)) << name;
  }
  const auto json = nlohmann::json::parse(read_bytes(here_ / "out" / "run.json"));
  EXPECT_EQ(json["input"]["files"].size(), 12U);
  for (const auto& file : json["input"]["files"]) EXPECT_TRUE(file["etag"].is_string()) << file;
}

TEST_F(ProgramHub, GivesTheSameTablesAsFromDisk) {
  const Outcome hub = from_hub();
  ASSERT_EQ(hub.code, 0) << hub.err;
  EXPECT_NE(hub.err.find("fetching 12 files of org/dump at main (commit " +
                         hub_.commit("org/dump", "main").substr(0, 12) + "), "),
            std::string::npos)
      << hub.err;
  ASSERT_EQ(analyze({"--output_dir", "disk"}).code, 0);
  std::size_t tables = 0;
  for (const std::string& name : names_in(here_ / "disk")) {
    if (!name.ends_with(".csv")) continue;
    EXPECT_EQ(read_bytes(here_ / "out" / name), read_bytes(here_ / "disk" / name)) << name;
    ++tables;
  }
  EXPECT_EQ(tables, table_count);
}

// The rotation's factors depend on the largest position of the dump.
TEST_F(ProgramHub, WaitsForAllHeadsWhereTheRotationDependsOnTheLength) {
  fs::copy(dump(), here_ / "longrope", fs::copy_options::recursive);
  write_bytes(here_ / "longrope/config.json",
              R"({"model_type": "phi3", "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "hidden_size": 32, "rope_theta": 10000.0, "max_position_embeddings": 4096,
      "original_max_position_embeddings": 16, "rope_scaling": {"type": "longrope",
      "short_factor": [1.0, 1.0, 1.0, 1.0], "long_factor": [4.0, 8.0, 16.0, 32.0]}})");
  serve("longrope", "", here_ / "longrope");
  const Outcome hub = from_hub({"--dataset_revision", "longrope", "--max_workers", "1"});
  ASSERT_EQ(hub.code, 0) << hub.err;
  ASSERT_EQ(run(analyze_words("longrope", {"--output_dir", "disk"})).code, 0);
  EXPECT_EQ(read_bytes(here_ / "out/head_metrics.csv"), read_bytes(here_ / "disk/head_metrics.csv"));
}

TEST_F(ProgramHub, InfersTheRotationWhenAllHeadsHaveArrived) {
  ASSERT_EQ(run({"synth", "bare", "--mean", "1", "--rope_theta", "500000", "--truth_pairs", "0", "--quiet"}).code, 0);
  fs::remove(here_ / "bare/config.json");
  serve("bare", "", here_ / "bare");
  const Outcome hub = from_hub({"--dataset_revision", "bare", "--num_triples", "16"});
  ASSERT_EQ(hub.code, 0) << hub.err;
  EXPECT_EQ(lines_starting(hub.err, "the rotation is inferred from the vectors: theta 500000, half, all 64").size(), 1U)
      << hub.err;
  ASSERT_EQ(run(analyze_words("bare", {"--output_dir", "disk", "--num_triples", "16"})).code, 0);
  EXPECT_EQ(read_bytes(here_ / "out/head_metrics.csv"), read_bytes(here_ / "disk/head_metrics.csv"));
}

TEST_F(ProgramHub, NamesItsSourceInRunJson) {
  ASSERT_EQ(from_hub().code, 0);
  const auto input = nlohmann::json::parse(read_bytes(here_ / "out/run.json")).at("input");
  EXPECT_EQ(input.at("kind"), "hub");
  EXPECT_EQ(input.at("repo"), "org/dump");
  EXPECT_EQ(input.at("revision"), "main");
  EXPECT_EQ(input.at("commit"), hub_.commit("org/dump", "main"));
  ASSERT_EQ(input.at("files").size(), 12U);
  for (const auto& file : input.at("files")) {
    EXPECT_EQ(file.at("etag"), file_etag(read_bytes(dump() / std::string(file.at("file"))), true));
  }
}

TEST_F(ProgramHub, ACompleteSnapshotCostsOneRequest) {
  ASSERT_EQ(from_hub().code, 0);
  const std::string tables = read_bytes(here_ / "out/head_metrics.csv");
  hub_.reset();
  ASSERT_EQ(from_hub().code, 0);
  EXPECT_EQ(hub_.requests().size(), 1U);
  EXPECT_EQ(read_bytes(here_ / "out/head_metrics.csv"), tables);
}

TEST_F(ProgramHub, OfflineUsesWhatIsCached) {
  ASSERT_EQ(download().code, 0);
  hub_.reset();
  const Outcome offline = from_hub({}, {"HF_HUB_OFFLINE=1"});
  ASSERT_EQ(offline.code, 0) << offline.err;
  EXPECT_NE(offline.err.find("are taken as the whole dump"), std::string::npos) << offline.err;
  EXPECT_TRUE(hub_.requests().empty());
}

TEST_F(ProgramHub, AnalysisOfAHeadStartsBeforeTheLastHasArrived) {
  hub_.inject({HubHost::api, "l01h03q", ""}, stall_after(0), 100);
  const Surroundings surroundings = here({"HF_HUB_DOWNLOAD_TIMEOUT=30"});
  RunningProgram program(hub_words({"--no-progress"}), surroundings);
  program.wait_for("[4/8]");
  EXPECT_FALSE(fs::exists(snapshot() / "l01h03q/data.parquet"));
  program.send(SIGINT);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("[4/8] layer"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("/12] "), std::string::npos) << "lines count heads, not files\n" << outcome.err;
  EXPECT_TRUE(fs::exists(here_ / "out/head_metrics.partial.csv"));
}

TEST_F(ProgramHub, DownloadFetchesWhatARunNeeds) {
  const Outcome outcome = download({"--layers", "1", "--q_heads", "0,3"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, snapshot().string() + "\n");
  EXPECT_EQ(heads_in_cache(), (std::vector<std::string>{"l01h00k", "l01h00q", "l01h01k", "l01h03q"}));
  EXPECT_NE(outcome.err.find("fetching 4 files of org/dump at main"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("[4/4] "), std::string::npos) << outcome.err;
  EXPECT_TRUE(fs::exists(snapshot() / "config.json"));
  const Outcome again = download({"--layers", "1", "--q_heads", "0,3"});
  EXPECT_EQ(again.out, outcome.out);
  EXPECT_NE(again.err.find("all files of 2 heads are in the cache already"), std::string::npos) << again.err;
}

TEST_F(ProgramHub, FetchesHeadsInTheOrderOfTheRun) {
  ASSERT_EQ(download({"--download_max_workers", "1"}).code, 0);
  std::vector<std::string> layers;
  for (const HubRequest& request : hub_.requests({HubHost::api, "data.parquet", ""})) {
    layers.push_back(request.target.substr(request.target.rfind("/l") + 1, 3));
  }
  EXPECT_EQ(layers.size(), 12U);
  EXPECT_TRUE(std::ranges::is_sorted(layers)) << fmt::format("{}", fmt::join(layers, " "));
}

TEST_F(ProgramHub, DownloadTakesTheRevisionFromItsFlag) {
  serve("other", "");
  hub_.add_file("org/dump", "other", "README.md", "another commit", false);
  const Outcome outcome = download({"--revision", "other", "--layers", "0"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(hub_.commit("org/dump", "other")), std::string::npos) << outcome.out;
}

TEST_F(ProgramHub, DownloadDoesNotAskForTheRotation) {
  serve("odd", "");
  hub_.add_file("org/dump", "odd", "config.json",
                R"({"model_type": "llama", "head_dim": 8, "rope_theta": 1e4, "rope_scaling": {"type": "odd"}})", false);
  complaint(2, from_hub({"--dataset_revision", "odd"}));
  EXPECT_EQ(download({"--revision", "odd", "--layers", "0"}).code, 0);
}

TEST_F(ProgramHub, DownloadShowsNotes) {
  hub_.inject({HubHost::api, "resolve-cache", ""}, refuse_with(503));
  const Outcome outcome = download({"--model_dir", "small"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("status 503; trying again"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("has no folder small, but holds heads itself"), std::string::npos) << outcome.err;
}

TEST_F(ProgramHub, DryRunFetchesNoHead) {
  const Outcome outcome = download({"--dry-run", "--layers", "0"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("  l00h03q/data.parquet\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("to fetch: 6 files of org/dump at main (commit "), std::string::npos) << outcome.out;
  EXPECT_TRUE(hub_.requests(of_storage).empty());
  const Outcome plan = from_hub({"--dry-run"});
  EXPECT_NE(plan.out.find("# to fetch: 12 files of org/dump at main"), std::string::npos) << plan.out;
  EXPECT_TRUE(hub_.requests(of_storage).empty());
}

TEST_F(ProgramHub, FindsHeadsBelowTheModelFolder) {
  serve("models", "models/small/");
  const Outcome outcome = from_hub({"--dataset_revision", "models", "--model_dir", "models/small"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string advice = complaint(3, from_hub({"--dataset_revision", "models"}));
  EXPECT_NE(advice.find("pass --model_dir models/small"), std::string::npos) << advice;
}

TEST_F(ProgramHub, ANoteSaysThatHeadsOfTheRootAreUsed) {
  const Outcome outcome = from_hub({"--model_dir", "small", "--layers", "0"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("org/dump at main has no folder small, but holds heads itself"), std::string::npos)
      << outcome.err;
}

TEST_F(ProgramHub, AnInterruptedDownloadGoesOnInTheNextRun) {
  hub_.set_bytes_per_second(20'000);
  RunningProgram program({"download", "org/dump"}, here());
  program.wait_for("[3/12]");
  program.send(SIGINT);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("downloaded data is kept"), std::string::npos) << outcome.err;
  hub_.set_bytes_per_second(0);
  std::uintmax_t kept = 0;
  for (const std::string& name : names_in(cache() / "datasets--org--dump/blobs")) {
    kept += fs::file_size(cache() / "datasets--org--dump/blobs" / name);
  }
  std::uintmax_t all = 0;
  for (const auto& entry : fs::recursive_directory_iterator(dump())) {
    if (entry.path().extension() == ".parquet") all += entry.file_size();
  }
  hub_.reset();
  ASSERT_EQ(download().code, 0);
  EXPECT_LT(bytes_sent(), all - kept + 10'000) << "bytes that had arrived must not be sent again";
  for (const std::string& name : names_in(cache() / "datasets--org--dump/blobs")) {
    EXPECT_FALSE(name.ends_with(".incomplete"));
  }
}

TEST_F(ProgramHub, ShowsFilesBytesRateAndTimeLeft) {
  hub_.set_bytes_per_second(20'000);
  Surroundings surroundings = here();
  surroundings.terminal_columns = 120;
  const Outcome outcome = run({"download", "org/dump"}, surroundings);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("/12 files, "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("KiB/s, 0:0"), std::string::npos) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with("\r\x1b[K")) << outcome.err;
}

TEST_F(ProgramHub, ShowsTheDownloadBehindTheBarOfHeads) {
  // The last head is slow to arrive; the others are done before.
  hub_.inject({HubHost::storage, file_etag(read_bytes(dump() / "l01h03q/data.parquet"), true), ""}, slow_down_to(2000));
  Surroundings surroundings = here();
  surroundings.terminal_columns = 160;
  const Outcome outcome = run(hub_words(), surroundings);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("/8 heads, "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(" left; "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("/12 files, "), std::string::npos) << outcome.err;
}

TEST_F(ProgramHub, DatasetCacheDirMovesTheCache) {
  ASSERT_EQ(download({"--dataset_cache_dir", "elsewhere"}).code, 0);
  EXPECT_TRUE(fs::exists(here_ / "elsewhere/datasets--org--dump/refs/main"));
  EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(ProgramHub, WithoutLinksFilesAreCopies) {
  ASSERT_EQ(from_hub({}, {"HF_HUB_DISABLE_SYMLINKS=1"}).code, 0);
  EXPECT_FALSE(fs::is_symlink(snapshot() / "l00h00q/data.parquet"));
  hub_.reset();
  ASSERT_EQ(from_hub().code, 0);
  EXPECT_EQ(hub_.requests().size(), 1U);
}

}  // namespace
}  // namespace attention_plasticity
