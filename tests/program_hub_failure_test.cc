// Failures between the program and the Hub: names, access, the network, damaged files.

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/head_file_writer.h"
#include "program_hub_support.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

using ProgramHubFailure = ProgramHub;

TEST_F(ProgramHubFailure, RefusesWhatDoesNotFitOnTheDiskBeforeFetchingIt) {
  hub_.inject({HubHost::api, "/tree/", ""}, {{}, [](LoopbackAnswer& answer) {
                                               auto listing = nlohmann::json::parse(answer.body);
                                               for (auto& entry : listing) {
                                                 if (entry.contains("lfs")) entry["lfs"]["size"] = 1ULL << 52U;
                                               }
                                               answer.body = listing.dump();
                                             }});
  const std::string full = complaint(6, from_hub());
  EXPECT_NE(full.find("make room"), std::string::npos) << full;
  EXPECT_TRUE(hub_.requests(of_storage).empty());
}

TEST_F(ProgramHubFailure, ReportsAMissingDatasetAndMissingAccess) {
  const std::string missing = complaint(4, from_hub({"--dataset_name", "org/nothing"}));
  EXPECT_NE(missing.find("there is no dataset org/nothing on " + hub_.endpoint()), std::string::npos) << missing;
  HubRepoOptions options;
  options.is_private = true;
  options.token = "hf_right";
  hub_.set_options("org/dump", options);
  EXPECT_NE(complaint(4, from_hub()).find("org/dump"), std::string::npos);
  const std::string wrong = complaint(4, from_hub({}, {"HF_TOKEN=hf_wrong"}));
  EXPECT_NE(wrong.find("does not accept the token"), std::string::npos) << wrong;
  EXPECT_EQ(from_hub({}, {"HF_TOKEN=hf_right"}).code, 0);
}

TEST_F(ProgramHubFailure, SaysWhatToDoAboutAGate) {
  HubRepoOptions options;
  options.gated = true;
  options.token = "hf_right";
  hub_.set_options("org/dump", options);
  const std::string gated = complaint(4, from_hub());
  EXPECT_NE(gated.find("org/dump is gated"), std::string::npos) << gated;
  EXPECT_NE(gated.find("/datasets/org/dump"), std::string::npos) << gated;
  EXPECT_EQ(from_hub({}, {"HF_TOKEN=hf_right"}).code, 0);
}

TEST_F(ProgramHubFailure, ATokenIsNeverShownNorWrittenDown) {
  HubRepoOptions options;
  options.is_private = true;
  options.token = "hf_verysecret";
  hub_.set_options("org/dump", options);
  hub_.inject(of_storage, refuse_with(403), 2);
  fs::create_directories(here_ / "home");
  write_bytes(here_ / "home/token", "hf_verysecret\n");
  const Outcome outcome = from_hub({"--max_workers", "1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ((outcome.out + outcome.err).find("verysecret"), std::string::npos);
  EXPECT_EQ((outcome.out + outcome.err).find("Signature"), std::string::npos);
  for (const fs::path& folder : {here_ / "out", cache()}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) {
        EXPECT_EQ(read_bytes(entry.path()).find("verysecret"), std::string::npos);
      }
    }
  }
  for (const HubRequest& request : hub_.requests(of_storage)) EXPECT_FALSE(request.headers.contains("authorization"));
}

// A server of https, by the program openssl: it sends the files of a folder as whole answers.
class EncryptedServer {
 public:
  explicit EncryptedServer(const fs::path& folder) : certificate_(folder / "certificate.pem") {
    const std::string key = (folder / "key.pem").string();
    const std::string command = fmt::format(
        "cd '{}' && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext "
        "subjectAltName=IP:127.0.0.1 -keyout '{}' -out '{}' 2>/dev/null && echo $$ && exec openssl s_server -HTTP "
        "-accept 127.0.0.1:0 -cert '{}' -key '{}' 2>/dev/null",
        folder.string(), key, certificate_.string(), certificate_.string(), key);
    output_ = ::popen(command.c_str(), "r");
    std::array<char, 256> line{};
    while (output_ != nullptr && std::fgets(line.data(), static_cast<int>(line.size()), output_) != nullptr) {
      const std::string text(line.data(), std::strcspn(line.data(), "\n"));
      if (process_ == 0) process_ = std::stoi(text);
      if (!text.starts_with("ACCEPT ")) continue;
      origin_ = "https://127.0.0.1" + text.substr(text.rfind(':'));
      return;
    }
  }
  ~EncryptedServer() {
    if (process_ > 0) ::kill(process_, SIGTERM);
    if (output_ != nullptr) ::pclose(output_);
  }
  EncryptedServer(const EncryptedServer&) = delete;
  EncryptedServer& operator=(const EncryptedServer&) = delete;

  const std::string& origin() const { return origin_; }
  const fs::path& certificate() const { return certificate_; }

 private:
  fs::path certificate_;
  std::string origin_;
  std::FILE* output_ = nullptr;
  pid_t process_ = 0;
};

TEST_F(ProgramHubFailure, ARedirectFromHttpsToHttpIsNotFollowed) {
  const fs::path folder = here_ / "server";
  const fs::path answer = folder / "api/datasets/org/dump/revision/main";
  fs::create_directories(answer.parent_path());
  write_bytes(answer, fmt::format("HTTP/1.0 302 Found\r\nLocation: {}/api/datasets/org/dump/revision/main\r\n\r\n",
                                  hub_.endpoint()));
  const EncryptedServer server(folder);
  ASSERT_FALSE(server.origin().empty());
  const std::string lost = complaint(5, from_hub({}, {"HF_ENDPOINT=" + server.origin(), "HF_TOKEN=hf_secret",
                                                      "REQUESTS_CA_BUNDLE=" + server.certificate().string()}));
  EXPECT_EQ(lost, "127.0.0.1 redirects to an address that is not of https, which is not followed; check HF_ENDPOINT");
  EXPECT_TRUE(hub_.requests().empty());
}

TEST_F(ProgramHubFailure, NamesRevisionsNearAWrongOne) {
  serve("qwen3-8b", "");
  const std::string wrong = complaint(3, from_hub({"--dataset_revision", "qwen3-9b"}));
  EXPECT_NE(wrong.find("qwen3-9b"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("there are qwen3-8b, main"), std::string::npos) << wrong;
}

TEST_F(ProgramHubFailure, ListsTheBranchesWhenMainHoldsNoHeads) {
  hub_.add_file("org/many", "main", "README.md", "one branch for each model", false);
  hub_.add_file("org/many", "qwen3-8b", "l00h00q/data.parquet", "x", false);
  hub_.add_file("org/many", "llama", "l00h00q/data.parquet", "x", false);
  const std::string none = complaint(3, from_hub({"--dataset_name", "org/many"}));
  EXPECT_NE(none.find("org/many at main holds no heads"), std::string::npos) << none;
  EXPECT_NE(none.find("--dataset_revision with one of llama, qwen3-8b"), std::string::npos) << none;
}

TEST_F(ProgramHubFailure, RefusesAListingThatLeavesItsFolder) {
  hub_.add_file("org/dump", "main", "../../../../outside", std::string(20'000, 'x'), true);
  const std::string escaping = complaint(3, from_hub());
  EXPECT_NE(escaping.find("leaves the folder"), std::string::npos) << escaping;
  EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(ProgramHubFailure, ReportsADatasetThatIsNotInTheCacheWhenOffline) {
  const std::string offline = complaint(5, from_hub({}, {"HF_HUB_OFFLINE=1"}));
  EXPECT_NE(offline.find("HF_HUB_OFFLINE is set, and org/dump at main is not in the cache"), std::string::npos)
      << offline;
}

TEST_F(ProgramHubFailure, ReportsARateLimit) {
  hub_.inject({HubHost::api, "", ""}, refuse_with(429, {{"Retry-After", "7200"}}), 10);
  const std::string limit = complaint(5, from_hub());
  EXPECT_NE(limit.find("rate limit"), std::string::npos) << limit;
}

TEST_F(ProgramHubFailure, ReportsAHubThatCannotBeReached) {
  const std::string lost = complaint(5, from_hub({}, {"HF_ENDPOINT=http://127.0.0.1:1"}));
  EXPECT_NE(lost.find("the Hub cannot be reached"), std::string::npos) << lost;
}

TEST_F(ProgramHubFailure, AWrongChecksumEndsTheRunAndKeepsFinishedHeads) {
  hub_.inject({HubHost::storage, file_etag(read_bytes(dump() / "l01h02q/data.parquet"), true), ""}, flip_byte(77), 100);
  const Outcome outcome = from_hub({"--max_workers", "1"});
  EXPECT_EQ(outcome.code, 5) << outcome.err;
  const std::string line = last_line(outcome.err);
  EXPECT_NE(line.find("l01h02q/data.parquet: its checksum was wrong 3 times"), std::string::npos) << line;
  EXPECT_TRUE(fs::exists(here_ / "out/head_metrics.partial.csv"));
  EXPECT_FALSE(fs::exists(here_ / "out/head_metrics.csv"));
  EXPECT_FALSE(fs::exists(snapshot() / "l01h02q/data.parquet"));
}

TEST_F(ProgramHubFailure, TriesAgainWhenTheHubIsBusy) {
  hub_.inject({HubHost::api, "/revision/", ""}, refuse_with(503));
  hub_.inject(of_storage, refuse_with(429, {{"Retry-After", "0"}}));
  hub_.inject(of_storage, drop_after(100), 2);
  const Outcome outcome = from_hub();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("trying again"), std::string::npos) << outcome.err;
}

TEST_F(ProgramHubFailure, SaysWhatIsWrongWithAName) {
  EXPECT_NE(complaint(2, run({"download", "not a name"}, here())).find("must look like org/name"), std::string::npos);
  EXPECT_NE(complaint(2, run({"download"}, here())).find("download takes one dataset"), std::string::npos);
  EXPECT_NE(complaint(2, from_hub({}, {"HF_ENDPOINT=nonsense"})).find("HF_ENDPOINT"), std::string::npos);
}

TEST_F(ProgramHubFailure, VerifiesTheCacheOnRequest) {
  ASSERT_EQ(from_hub().code, 0);
  const std::string tables = read_bytes(here_ / "out/head_metrics.csv");
  const fs::path blob = fs::canonical(snapshot() / "l00h01q/data.parquet");
  const std::string right = read_bytes(blob);
  write_bytes(blob, read_bytes(dump() / "l01h02q/data.parquet"));  // sound, but of another head
  const Outcome offline = from_hub({"--verify_cache"}, {"HF_HUB_OFFLINE=1"});
  EXPECT_EQ(offline.code, 5) << offline.err;
  EXPECT_NE(last_line(offline.err).find("the cached file is damaged, and the Hub is offline"), std::string::npos)
      << offline.err;
  const Outcome online = from_hub({"--verify_cache"});
  EXPECT_EQ(online.code, 0) << online.err;
  EXPECT_NE(online.err.find("l00h01q/data.parquet: its SHA-256 is not "), std::string::npos) << online.err;
  EXPECT_EQ(read_bytes(blob), right);
  EXPECT_EQ(read_bytes(here_ / "out/head_metrics.csv"), tables);
  EXPECT_EQ(download({"--verify_cache"}).code, 0);
}

TEST_F(ProgramHubFailure, AHeadOfAWrongWidthEndsItselfOnly) {
  const fs::path copy = here_ / "dump";
  fs::copy(dump(), copy, fs::copy_options::recursive);
  fs::remove(copy / "config.json");
  HeadRows narrow = read_head_file(copy / "l00h00q/data.parquet", Side::query).rows;
  narrow.width = 3;
  narrow.vectors.resize(3 * narrow.size());
  write_head_file(copy / "l00h00q/data.parquet", narrow);
  serve("narrow", "", copy);
  const Outcome outcome =
      from_hub({"--dataset_revision", "narrow", "--rope_theta", "10000", "--num_q_heads", "4", "--num_k_heads", "2"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  const auto failed = nlohmann::json::parse(read_bytes(here_ / "out/run.json"))["heads"]["failed"];
  ASSERT_EQ(failed.size(), 1U) << failed;
  EXPECT_TRUE(failed[0]["file"].get<std::string>().ends_with("l00h00q/data.parquet")) << failed;
}

TEST_F(ProgramHubFailure, ARotationThatDoesNotFitIsReportedBeforeAnyHeadIsDone) {
  const Outcome outcome = from_hub({"--rope_theta", "10000", "--rope_dim", "64"});
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_NE(last_line(outcome.err).find("the rotation has 64 components"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace attention_plasticity
