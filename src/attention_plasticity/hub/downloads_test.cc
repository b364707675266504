#include "attention_plasticity/hub/downloads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/hub/http.h"
#include "attention_plasticity/hub/loopback_hub_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

const DownloadObserver silent{[](const RepoFile&, const DownloadProgress&) {}, [](const std::string&) {}};

// A Hub with one small file and four large ones.
class SeveralDownloads : public ::testing::Test {
 protected:
  SeveralDownloads() {
    for (const std::string& path : paths_) {
      hub_.add_file("org/name", "main", path, std::string(20'000, path[2]), path != "config.json");
    }
    settings_.endpoint = hub_.endpoint();
    settings_.cache = folder_ / "cache";
    settings_.pause = [](milliseconds) {};
  }

  Snapshot open() {
    std::vector<std::string> notes;
    return {settings_, "org/name", "main", notes, {}};
  }

  const std::vector<std::string> paths_{"config.json", "l00h00q/data.parquet", "l01h00q/data.parquet",
                                        "l02h00q/data.parquet", "l03h00q/data.parquet"};
  TemporaryFolder folder_;
  LoopbackHub hub_;
  HubSettings settings_;
};

TEST_F(SeveralDownloads, WorkOnSeveralFilesAtOnce) {
  hub_.inject({HubHost::api, "l00h00q", ""}, stall_after(0), 100);
  Snapshot snapshot = open();
  Downloads downloads(snapshot, snapshot.missing({"l00h00q/data.parquet", "l01h00q/data.parquet"}, {}), 2, silent, {});
  for (int i = 0; i < 500 && downloads.progress().files == 0; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(snapshot.has("l01h00q/data.parquet"));
}

TEST_F(SeveralDownloads, TellBytesOfAnEarlierRunFromTheirOwn) {
  Snapshot snapshot = open();
  snapshot.cache().prepare();
  const std::vector<RepoFile> missing = snapshot.missing(paths_, {});
  std::ofstream(snapshot.cache().partial_blob(missing[1].etag)) << std::string(5000, '0');
  Downloads downloads(snapshot, missing, 2, silent, {});
  ASSERT_TRUE(downloads.wait_for_all(std::chrono::seconds(30)));
  const DownloadProgress progress = downloads.progress();
  EXPECT_EQ(progress.bytes_before, 5000U);
  EXPECT_EQ(progress.bytes, progress.all_bytes);
}

TEST_F(SeveralDownloads, GoOnWithNothingAfterAFailure) {
  hub_.inject({HubHost::api, "l00h00q", ""}, refuse_with(403, {{"X-Error-Code", "GatedRepo"}}), 100);
  Snapshot snapshot = open();
  std::vector<RepoFile> missing = snapshot.missing(paths_, {});
  Downloads(snapshot, {missing[0]}, 1, silent, {}).wait_for("config.json");
  hub_.set_bytes_per_second(200'000);
  Downloads downloads(snapshot, missing, 2, silent, {});
  const auto kind_of_failure = [&] {
    try {
      downloads.wait_for("l00h00q/data.parquet");
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::usage;
  };
  EXPECT_EQ(kind_of_failure(), ErrorKind::access);
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_LE(downloads.progress().files, 2U);
  EXPECT_EQ(kind_of_failure(), ErrorKind::access) << "the first failure counts, not what it led to";
  EXPECT_NO_THROW(downloads.wait_for("config.json")) << "it had arrived before";
}

TEST_F(SeveralDownloads, StopBeforeTheyBegin) {
  Snapshot snapshot = open();
  std::stop_source stop;
  stop.request_stop();
  Downloads downloads(snapshot, snapshot.missing(paths_, {}), 2, silent, stop.get_token());
  EXPECT_THROW(downloads.wait_for_all(std::chrono::seconds(10)), Stopped);
}

TEST_F(SeveralDownloads, NeedNoRoomForWhatIsThere) {
  const Snapshot snapshot = open();
  snapshot.cache().prepare();
  constexpr std::uint64_t tebibyte = std::uint64_t{1} << 40U;
  const std::uint64_t more_than_free = fs::space(settings_.cache).available + tebibyte / 2;
  const RepoFile large{"large", more_than_free, std::string(64, 'b'), true};
  EXPECT_THROW(check_disk_space(snapshot, {large}), Error);
  // A hole takes no room.
  std::ofstream(snapshot.cache().partial_blob(large.etag)) << "";
  fs::resize_file(snapshot.cache().partial_blob(large.etag), tebibyte);
  EXPECT_NO_THROW(check_disk_space(snapshot, {large}));
  fs::remove(snapshot.cache().partial_blob(large.etag));
  std::ofstream(snapshot.cache().blob(large.etag)) << "";
  EXPECT_NO_THROW(check_disk_space(snapshot, {large}));
}

}  // namespace
}  // namespace attention_plasticity
