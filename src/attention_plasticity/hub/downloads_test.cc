#include "attention_plasticity/hub/downloads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <thread>

#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/http.h"
#include "attention_plasticity/hub/hub_fixture_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// A Hub with one small file and four large ones.
class DownloadsTest : public HubTest {
 protected:
  DownloadsTest() {
    for (const std::string& path : paths_) {
      hub_.add_file("org/name", "main", path, std::string(20'000, path[2]), path != "config.json");
    }
  }

  static constexpr std::size_t large_files = 4;
  const std::vector<std::string> paths_{"config.json", "l00h00q/data.parquet", "l01h00q/data.parquet",
                                        "l02h00q/data.parquet", "l03h00q/data.parquet"};
};

TEST_F(DownloadsTest, WorkOnSeveralFilesAtOnce) {
  hub_.inject({HubHost::api, "l00h00q", ""}, stall_after(0), 100);
  Snapshot snapshot = open();
  Downloads downloads(snapshot, snapshot.missing({"l00h00q/data.parquet", "l01h00q/data.parquet"}, {}), 2, observer(),
                      {});
  for (int i = 0; i < 500 && downloads.progress().files == 0; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(snapshot.has("l01h00q/data.parquet"));
}

TEST_F(DownloadsTest, TellBytesOfAnEarlierRunFromTheirOwn) {
  Snapshot snapshot = open();
  snapshot.cache().prepare();
  const std::vector<RepoFile> missing = snapshot.missing(paths_, {});
  std::ofstream(snapshot.cache().partial_blob(missing[1].etag)) << std::string(5000, '0');
  Downloads downloads(snapshot, missing, 2, observer(), {});
  ASSERT_TRUE(downloads.wait_for_all(std::chrono::seconds(30)));
  const DownloadProgress progress = downloads.progress();
  EXPECT_EQ(progress.bytes_before, 5000U);
  EXPECT_EQ(progress.bytes, progress.all_bytes);
}

TEST_F(DownloadsTest, GoOnWithNothingAfterAFailure) {
  hub_.inject({HubHost::api, "l00h00q", ""}, refuse_with(403, {{"X-Error-Code", "GatedRepo"}}), 100);
  Snapshot snapshot = open();
  std::vector<RepoFile> missing = snapshot.missing(paths_, {});
  Downloads(snapshot, {missing[0]}, 1, observer(), {}).wait_for("config.json");
  hub_.set_bytes_per_second(200'000);
  Downloads downloads(snapshot, missing, 2, observer(), {});
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

TEST_F(DownloadsTest, StopBeforeTheyBegin) {
  Snapshot snapshot = open();
  std::stop_source stop;
  stop.request_stop();
  Downloads downloads(snapshot, snapshot.missing(paths_, {}), 2, observer(), stop.get_token());
  EXPECT_THROW(downloads.wait_for_all(std::chrono::seconds(10)), Stopped);
}

TEST_F(DownloadsTest, NeedNoRoomForWhatIsThere) {
  const Snapshot snapshot = open();
  snapshot.cache().prepare();
  constexpr std::uint64_t tebibyte = std::uint64_t{1} << 40U;
  const std::uint64_t more_than_free = fs::space(settings_.cache).available + tebibyte / 2;
  const RepoFile large{"large", more_than_free, std::string(64, 'b'), true};
  EXPECT_THROW(check_disk_space(snapshot, {large}), Error);
  // A sparse file takes no space.
  std::ofstream(snapshot.cache().partial_blob(large.etag)) << "";
  fs::resize_file(snapshot.cache().partial_blob(large.etag), tebibyte);
  EXPECT_NO_THROW(check_disk_space(snapshot, {large}));
  fs::remove(snapshot.cache().partial_blob(large.etag));
  std::ofstream(snapshot.cache().blob(large.etag)) << "";
  EXPECT_NO_THROW(check_disk_space(snapshot, {large}));
}

TEST_F(DownloadsTest, BringFilesInTheirOrder) {
  Snapshot snapshot = open();
  Downloads downloads(snapshot, snapshot.missing(snapshot.paths(), {}), 1, observer(), {});
  downloads.wait_for("l00h00q/data.parquet");
  downloads.wait_for("config.json");
  downloads.wait_for("none of them");
  EXPECT_TRUE(snapshot.has("config.json"));
}

TEST_F(DownloadsTest, FetchContentThatTwoFilesShareOnce) {
  hub_.add_file("org/name", "main", "l09h00q/data.parquet", std::string(20'000, '0'), true);
  Snapshot snapshot = open();
  const DownloadProgress progress = fetch_all(snapshot);
  EXPECT_EQ(hub_.requests(of_storage).size(), large_files);
  EXPECT_EQ(progress.bytes, progress.all_bytes);
  EXPECT_TRUE(snapshot.missing(snapshot.paths(), {}).empty());
}

TEST_F(DownloadsTest, EndAllAtTheFirstFailure) {
  hub_.inject({HubHost::api, "/resolve/", ""}, refuse_with(403, {{"X-Error-Code", "GatedRepo"}}), 100);
  Snapshot snapshot = open();
  Downloads downloads(snapshot, snapshot.missing(snapshot.paths(), {}), 2, observer(), {});
  try {
    downloads.wait_for("l03h00q/data.parquet");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::access);
    EXPECT_NE(std::string(error.what()).find("gated"), std::string::npos) << error.what();
  }
  EXPECT_LE(hub_.requests({std::nullopt, "/resolve", ""}).size(), 4U);
}

TEST_F(DownloadsTest, StopOnRequest) {
  Snapshot snapshot = open();
  std::vector<RepoFile> missing = snapshot.missing(snapshot.paths(), {});
  hub_.set_bytes_per_second(1000);
  std::stop_source stop;
  Downloads downloads(snapshot, std::move(missing), 2, observer(), stop.get_token());
  stop.request_stop();
  EXPECT_THROW(downloads.wait_for("l03h00q/data.parquet"), Stopped);
}

TEST_F(DownloadsTest, AreGivenUpWithTheObject) {
  Snapshot snapshot = open();
  std::vector<RepoFile> missing = snapshot.missing(snapshot.paths(), {});
  hub_.set_bytes_per_second(1);  // waiting for the files would take hours
  {
    const Downloads downloads(snapshot, std::move(missing), 2, observer(), {});
    EXPECT_LT(downloads.progress().files, downloads.progress().all_files);
  }
}

TEST_F(DownloadsTest, OfTwoAtOnceEndWithOneCopy) {
  hub_.set_bytes_per_second(100'000);
  Snapshot one = open();
  Snapshot other = open();
  {
    const std::jthread beside([&] { fetch_all(other, 4); });
    fetch_all(one, 4);
  }
  EXPECT_EQ(hub_.requests(of_storage).size(), large_files);
  for (const std::string& name : folder_.names()) EXPECT_FALSE(name.ends_with(".incomplete")) << name;
}

TEST_F(DownloadsTest, WithoutLinksBringFilesAllTheSame) {
  settings_.use_symlinks = false;
  Snapshot snapshot = open();
  fetch_all(snapshot);
  EXPECT_TRUE(snapshot.missing(snapshot.paths(), {}).empty());
  EXPECT_FALSE(fs::is_symlink(snapshot.folder() / "config.json"));
}

TEST_F(DownloadsTest, MustFitOnTheDisk) {
  const Snapshot snapshot = open();
  const RepoFile huge{"huge", std::uint64_t{1} << 60U, std::string(64, 'a'), true};
  try {
    check_disk_space(snapshot, {huge});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::output);
    EXPECT_NE(std::string(error.what()).find("1048576.0 TiB"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(check_disk_space(snapshot, {{"small", 1, std::string(64, 'a'), true}}));
}

// 2048 times 2^53 is 2^64, which 64 bits take for 0.
TEST_F(DownloadsTest, MustFitOnTheDiskWhateverTheSizesSumTo) {
  const Snapshot snapshot = open();
  std::vector<RepoFile> files;
  for (int i = 0; i < 2048; ++i) {
    files.push_back({"file-" + std::to_string(i), std::uint64_t{1} << 53U, std::string(64, 'c'), true});
  }
  EXPECT_THROW(check_disk_space(snapshot, files), Error);
  std::stop_source stop;
  stop.request_stop();
  const Downloads downloads(snapshot, files, 1, observer(), stop.get_token());
  EXPECT_EQ(downloads.progress().all_bytes, std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace attention_plasticity
