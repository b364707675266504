#include "attention_plasticity/hub/downloads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <thread>

#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/hub_fixture_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& c : bytes) c = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24U);
  return bytes;
}

const HubRequestPattern resolving{HubHost::api, "/resolve/", ""};

// A Hub that has one large and one small file.
class Download : public HubTest {
 protected:
  Download() {
    hub_.add_file("org/name", "main", "l00h00q/data.parquet", content_, true);
    hub_.add_file("org/name", "main", "config.json", small_content_, false);
    settings_.answer_timeout = seconds(5);
    settings_.stall_timeout = seconds(1);
    settings_.attempts = 4;
    settings_.pause = [this](milliseconds time) { pauses_.push_back(time); };
    commit_ = hub_.commit("org/name", "main");
  }

  void download(const RepoFile& file) {
    HubClient client(settings_, "org/name");
    const HubCache cache = this->cache();
    cache.prepare();
    download_file(client, cache, commit_, file,
                  {[this](std::int64_t bytes) { arrived_ += bytes; },
                   [this](const std::string& note) { notes_.push_back(note); }},
                  stop_.get_token());
  }

  // The error of a download that fails.
  Error failure(const RepoFile& file) {
    try {
      download(file);
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorKind::usage, "no error");
  }

  HubCache cache() const { return {settings_.cache, "org/name", settings_.use_symlinks}; }
  RepoFile large() const { return {"l00h00q/data.parquet", content_.size(), file_etag(content_, true), true}; }
  RepoFile small() const { return {"config.json", small_content_.size(), file_etag(small_content_, false), false}; }
  std::string fetched(const RepoFile& file) const { return read_text_file(cache().file(commit_, file.path)); }
  std::uint64_t partial_size() const {
    std::error_code missing;
    const auto size = fs::file_size(cache().partial_blob(large().etag), missing);
    return missing ? 0 : size;
  }
  // Bytes of bodies that the storage sent.
  std::size_t sent() const {
    std::size_t bytes = 0;
    for (const HubRequest& request : hub_.requests(of_storage)) bytes += request.body_bytes;
    return bytes;
  }

  const std::string content_ = random_bytes(300'000);
  const std::string small_content_ = "{\"num_hidden_layers\": 2}\n";
  std::string commit_;
  std::stop_source stop_;
  std::vector<milliseconds> pauses_;
  std::int64_t arrived_ = 0;
};

TEST_F(Download, BringsALargeFileByWayOfTheStorage) {
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  EXPECT_EQ(read_text_file(cache().blob(large().etag)), content_);
  EXPECT_EQ(hub_.requests().size(), 2U);
  EXPECT_EQ(arrived_, static_cast<std::int64_t>(content_.size()));
  EXPECT_EQ(partial_size(), 0U);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(Download, BringsASmallFileByWayOfARelativeRedirect) {
  download(small());
  EXPECT_EQ(fetched(small()), small_content_);
  EXPECT_TRUE(hub_.requests(of_storage).empty());
}

TEST_F(Download, AsksForNothingThatIsThere) {
  download(large());
  hub_.reset();
  download(large());
  EXPECT_TRUE(hub_.requests().empty());
}

TEST_F(Download, WithoutLinksAsksForNothingThatIsThere) {
  settings_.use_symlinks = false;
  download(large());
  hub_.reset();
  download(large());
  EXPECT_TRUE(hub_.requests().empty());
  EXPECT_EQ(fetched(large()), content_);
}

TEST_F(Download, LinksABlobThatAnotherCommitHasBrought) {
  download(large());
  hub_.add_file("org/name", "main", "another", "file", false);
  commit_ = hub_.commit("org/name", "main");
  hub_.reset();
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  EXPECT_TRUE(hub_.requests().empty());
}

TEST_F(Download, SendsTheTokenToTheEndpointOnly) {
  settings_.token = "hf_secret";
  hub_.accept_token("hf_secret");
  download(large());
  download(small());
  for (const HubRequest& request : hub_.requests()) {
    EXPECT_EQ(request.headers.contains("authorization"), request.host == HubHost::api) << request.target;
  }
  EXPECT_EQ(hub_.requests(of_storage).size(), 1U);
}

TEST_F(Download, SendsNoTokenWhereARedirectOfTheApiLeads) {
  settings_.token = "hf_secret";
  hub_.accept_token("hf_secret");
  hub_.inject(resolving, redirect_to(hub_.storage_origin() + "/elsewhere"), 100);
  EXPECT_EQ(failure(large()).kind(), ErrorKind::network);
  ASSERT_FALSE(hub_.requests(of_storage).empty());
  for (const HubRequest& request : hub_.requests(of_storage)) {
    EXPECT_FALSE(request.headers.contains("authorization"));
  }
}

TEST_F(Download, GoesOnWhereADroppedConnectionEnded) {
  hub_.inject(of_storage, drop_after(100'000), 2);
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  EXPECT_EQ(sent(), content_.size()) << "no byte is fetched twice";
  EXPECT_EQ(arrived_, static_cast<std::int64_t>(content_.size()));
  EXPECT_EQ(notes_.size(), 2U);
  EXPECT_EQ(hub_.requests(of_storage).at(1).headers.at("range"), "bytes=100000-");
}

TEST_F(Download, GoesOnAfterAResetAndATruncatedAnswer) {
  hub_.inject(of_storage, truncate_to(100'000));
  hub_.inject(of_storage, reset_after(50'000));
  download(large());
  EXPECT_EQ(fetched(large()), content_);
}

TEST_F(Download, GoesOnInALaterRun) {
  hub_.inject(of_storage, drop_after(70'000));
  hub_.inject(of_storage, refuse_with(503), 100);
  EXPECT_EQ(failure(large()).kind(), ErrorKind::network);
  EXPECT_EQ(partial_size(), 70'000U);
  hub_.reset();
  arrived_ = 0;
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  EXPECT_EQ(sent(), content_.size() - 70'000);
  EXPECT_EQ(arrived_, static_cast<std::int64_t>(content_.size())) << "what was left counts too";
}

TEST_F(Download, ProgressRenewsItsPatience) {
  hub_.inject(of_storage, drop_after(20'000), 14);
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  EXPECT_EQ(pauses_.size(), 14U);
  EXPECT_EQ(pauses_.back(), settings_.first_pause) << "each drop came after progress";
}

TEST_F(Download, EndsWhereTheServerKnowsNoRangesAndDropsAlways) {
  hub_.inject(of_storage, {ignore_range().change_request, drop_after(20'000).change_answer}, 1000);
  EXPECT_EQ(failure(large()).kind(), ErrorKind::network);
  EXPECT_LE(hub_.requests(of_storage).size(), 6U);
}

TEST_F(Download, BeginsAnewWhereTheServerKnowsNoRanges) {
  hub_.inject(of_storage, drop_after(100'000));
  hub_.inject(of_storage, ignore_range());
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  EXPECT_EQ(arrived_, static_cast<std::int64_t>(content_.size())) << "what came twice counts once";
}

TEST_F(Download, TakesNoOtherPartThanItAskedFor) {
  const LoopbackFault no_range{{}, [](LoopbackAnswer& answer) {
                                 std::erase_if(answer.headers,
                                               [](const auto& header) { return header.first == "Content-Range"; });
                               }};
  for (const auto& [fault, reason] :
       {std::pair(with_header("Content-Range", "bytes 50000-249999/300000"), "another part of the file than was"),
        std::pair(with_header("Content-Range", "bytes 10000-"), "another part of the file than was"),
        std::pair(no_range, "without a Content-Range")}) {
    notes_.clear();
    fs::remove_all(settings_.cache / "datasets--org--name");
    hub_.inject(of_storage, drop_after(100'000));
    hub_.inject(of_storage, fault);
    download(large());
    EXPECT_EQ(fetched(large()), content_);
    ASSERT_EQ(notes_.size(), 2U) << reason;
    EXPECT_NE(notes_[1].find(reason), std::string::npos) << notes_[1];
    EXPECT_EQ(hub_.requests(of_storage).back().headers.at("range"), "bytes=100000-") << "what had arrived stays";
  }
}

TEST_F(Download, TakesNothingOfALongerFile) {
  hub_.inject(of_storage, with_body(content_ + "and more"), 100);
  const Error error = failure(large());
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_NE(std::string(error.what()).find("a file of 300008 bytes arrived in place of 300000"), std::string::npos)
      << error.what();
  EXPECT_EQ(partial_size(), 0U);
}

TEST_F(Download, EndsAnAnswerThatGoesOnBeyondTheFile) {
  hub_.inject(of_storage, {{}, [](LoopbackAnswer& answer) {
                             answer.body += "and more";
                             answer.chunked = true;  // without a Content-Length
                           }});
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("more than the 300000 bytes"), std::string::npos) << notes_[0];
}

TEST_F(Download, FetchesAgainWhatHasAWrongChecksum) {
  hub_.inject(of_storage, flip_byte(123'456));
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  EXPECT_EQ(arrived_, static_cast<std::int64_t>(content_.size())) << "what was wrong does not count";
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("checksum is wrong"), std::string::npos) << notes_[0];
}

TEST_F(Download, RefusesAChecksumThatStaysWrong) {
  hub_.inject(of_storage, flip_byte(123'456), 100);
  const Error error = failure(large());
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_NE(std::string(error.what()).find("checksum was wrong 3 times"), std::string::npos) << error.what();
  EXPECT_EQ(error.file(), large().path);
  EXPECT_FALSE(cache().holds_blob(large().etag));
  EXPECT_FALSE(cache().holds_file(commit_, large().path));
}

TEST_F(Download, ChecksSmallFilesToo) {
  hub_.inject({HubHost::api, "resolve-cache", ""}, with_body(std::string(small_content_.size(), 'x')), 100);
  EXPECT_EQ(failure(small()).kind(), ErrorKind::network);
  EXPECT_FALSE(cache().holds_file(commit_, small().path));
}

TEST_F(Download, DoesNotTrustWhatAnEarlierRunLeft) {
  cache().prepare();
  std::ofstream(cache().partial_blob(large().etag)) << std::string(1000, 'x');
  download(large());
  EXPECT_EQ(fetched(large()), content_);
}

TEST_F(Download, CastsAwayMoreThanTheWhole) {
  cache().prepare();
  std::ofstream(cache().partial_blob(large().etag)) << content_ << "and more";
  download(large());
  EXPECT_EQ(fetched(large()), content_);
}

TEST_F(Download, FinishesAFileThatLackedOnlyItsName) {
  cache().prepare();
  std::ofstream(cache().partial_blob(large().etag)) << content_;
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  EXPECT_TRUE(hub_.requests().empty());
}

TEST_F(Download, WaitsAsLongAsTheServerAsks) {
  hub_.inject(resolving, refuse_with(429, {{"Retry-After", "7"}}));
  hub_.inject(resolving, refuse_with(429, {{"RateLimit", "\"resolvers\";r=0;t=12"}}));
  hub_.inject(resolving, refuse_with(503));
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  EXPECT_EQ(pauses_, (std::vector<milliseconds>{seconds(8), seconds(13), 4 * settings_.first_pause}));
}

TEST_F(Download, WaitsTwiceAsLongEachTime) {
  hub_.inject(resolving, refuse_with(500));
  hub_.inject(resolving, refuse_with(408));
  hub_.inject(of_storage, refuse_with(502));
  download(large());
  EXPECT_EQ(pauses_,
            (std::vector<milliseconds>{settings_.first_pause, 2 * settings_.first_pause, 4 * settings_.first_pause}));
}

TEST_F(Download, EndsAtARateLimitThatStays) {
  hub_.inject(resolving, refuse_with(429, {{"Retry-After", "5"}}), 100);
  const Error error = failure(large());
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_NE(std::string(error.what()).find("rate limit"), std::string::npos) << error.what();
  EXPECT_EQ(pauses_.size(), 3U) << "four attempts";
}

TEST_F(Download, DoesNotWaitForHours) {
  hub_.inject(resolving, refuse_with(429, {{"Retry-After", "3600"}}), 100);
  EXPECT_EQ(failure(large()).kind(), ErrorKind::network);
  EXPECT_TRUE(pauses_.empty());
}

TEST_F(Download, AsksForANewAddressWhenTheOldOneHasExpired) {
  hub_.inject(of_storage, refuse_with(403));
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  EXPECT_EQ(hub_.requests(resolving).size(), 2U);
}

TEST_F(Download, GoesOnAfterAStall) {
  hub_.inject(of_storage, stall_after(100'000));
  download(large());
  EXPECT_EQ(fetched(large()), content_);
}

TEST_F(Download, KnowsAWebPageFromAFile) {
  hub_.inject(of_storage, html_page(), 100);
  const Error error = failure(large());
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_NE(std::string(error.what()).find("web page"), std::string::npos) << error.what();
  EXPECT_EQ(partial_size(), 0U);
}

TEST_F(Download, TakesAWebPageThatPassesByForWhatItIs) {
  hub_.inject(of_storage, html_page());
  download(large());
  EXPECT_EQ(fetched(large()), content_);
}

TEST_F(Download, RefusesAnotherCommitAndAnotherFile) {
  hub_.inject(resolving, with_header("X-Repo-Commit", std::string(40, '0')), 100);
  EXPECT_NE(std::string(failure(large()).what()).find("in place of " + commit_), std::string::npos);
  hub_.reset();
  hub_.inject(resolving, with_header("X-Linked-Etag", "\"" + std::string(64, '0') + "\""), 100);
  EXPECT_NE(std::string(failure(large()).what()).find("other content"), std::string::npos);
  hub_.reset();
  hub_.inject(resolving, with_header("X-Linked-Size", "5"), 100);
  EXPECT_NE(std::string(failure(large()).what()).find("5 bytes in place of 300000"), std::string::npos);
}

TEST_F(Download, EndsAtARedirectLoop) {
  hub_.inject(resolving, redirect_to("/datasets/org/name/resolve/main/l00h00q/data.parquet"), 1000);
  const Error error = failure(large());
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_NE(std::string(error.what()).find("redirects more than 10 times"), std::string::npos) << error.what();
}

TEST_F(Download, NeverShowsATokenOrASignature) {
  settings_.token = "hf_secret";
  hub_.accept_token("hf_secret");
  hub_.inject(of_storage, drop_after(1000));
  hub_.inject(of_storage, refuse_with(403), 100);
  notes_.emplace_back(failure(large()).what());
  settings_.endpoint = "http://127.0.0.1:1";
  notes_.emplace_back(failure(large()).what());
  for (const std::string& text : notes_) {
    EXPECT_EQ(text.find("hf_secret"), std::string::npos) << text;
    EXPECT_EQ(text.find("Signature"), std::string::npos) << text;
  }
  EXPECT_GT(notes_.size(), 1U);
}

TEST_F(Download, KeepsWhatHasArrivedWhenStopped) {
  hub_.set_bytes_per_second(100'000);
  settings_.pause = nullptr;
  std::jthread stopper([this] {
    while (partial_size() == 0) std::this_thread::sleep_for(milliseconds(5));
    stop_.request_stop();
  });
  EXPECT_THROW(download(large()), Stopped);
  const std::uint64_t kept = partial_size();
  EXPECT_GT(kept, 0U);
  EXPECT_LT(kept, content_.size());
  hub_.set_bytes_per_second(0);
  hub_.reset();
  stop_ = std::stop_source();
  download(large());
  EXPECT_EQ(fetched(large()), content_);
  EXPECT_EQ(sent(), content_.size() - kept);
}

TEST_F(Download, TellsOfAFullDisk) {
  cache().prepare();
  fs::create_symlink("/dev/full", cache().partial_blob(large().etag));
  const Error error = failure(large());
  EXPECT_EQ(error.kind(), ErrorKind::output);
  EXPECT_NE(std::string(error.what()).find("No space left on device"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("free some space"), std::string::npos) << error.what();
  EXPECT_EQ(pauses_.size(), 0U) << "more attempts make no room";
}

TEST_F(Download, OfNothingIsAnEmptyFile) {
  hub_.add_file("org/name", "main", "empty", "", false);
  commit_ = hub_.commit("org/name", "main");
  download({"empty", 0, file_etag("", false), false});
  EXPECT_TRUE(cache().holds_file(commit_, "empty"));
}

TEST_F(Download, IsNotTriedAgainWhenThatCannotHelp) {
  // The file of trusted certificates does not exist, so that no server is trusted.
  settings_.endpoint = "https" + hub_.endpoint().substr(std::string("http").size());
  settings_.ca_file = (folder_ / "none.pem").string();
  EXPECT_EQ(failure(large()).kind(), ErrorKind::network);
  EXPECT_TRUE(pauses_.empty());
}

TEST_F(Download, CannotBeReached) {
  settings_.endpoint = "http://127.0.0.1:1";
  const Error error = failure(large());
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_EQ(pauses_.size(), 3U);
}

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
