#include "attention_plasticity/hub/snapshot.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <set>

#include "attention_plasticity/error.h"
#include "attention_plasticity/hub/hub_fixture_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

class SnapshotTest : public HubTest {
 protected:
  SnapshotTest() {
    for (int i = 0; i < files; ++i) {
      hub_.add_file("org/name", "main", "l0" + std::to_string(i) + "h00q/data.parquet",
                    std::string(20'000, static_cast<char>('a' + i)), true);
    }
    hub_.add_file("org/name", "main", "config.json", "{}", false);
    hub_.add_file("org/name", "qwen3-8b-long", "config.json", "{\"x\": 1}", false);
    settings_.answer_timeout = std::chrono::seconds(5);
    settings_.attempts = 3;
  }

  Error refusal(const std::string& revision, const std::string& repo = "org/name") {
    try {
      open(revision, repo);
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorKind::output, "no error");
  }

  static constexpr int files = 6;
};

TEST_F(SnapshotTest, KnowsCommitAndPathsByOneRequest) {
  const Snapshot snapshot = open();
  EXPECT_EQ(snapshot.commit(), hub_.commit("org/name", "main"));
  EXPECT_EQ(snapshot.paths().size(), files + 1U);
  EXPECT_EQ(hub_.requests().size(), 1U);
  EXPECT_FALSE(fs::exists(settings_.cache)) << "looking leaves nothing behind";
}

TEST_F(SnapshotTest, OfATagOrACommitIsTheSame) {
  hub_.add_tag("org/name", "v1.0", "main");
  hub_.add_file("org/name", "feature/x", "other", "x", false);
  EXPECT_EQ(open("v1.0").commit(), open().commit());
  EXPECT_EQ(open(open().commit()).paths(), open().paths());
  EXPECT_EQ(open("feature/x").paths(), std::vector<std::string>{"other"});
}

TEST_F(SnapshotTest, WhenCompleteCostsOneRequest) {
  Snapshot first = open();
  const DownloadProgress progress = fetch_all(first);
  EXPECT_EQ(progress.files, files + 1U);
  EXPECT_EQ(progress.bytes, progress.all_bytes);
  hub_.reset();
  Snapshot second = open();
  EXPECT_TRUE(second.missing(second.paths(), {}).empty());
  EXPECT_EQ(hub_.requests().size(), 1U);
}

TEST_F(SnapshotTest, ListsPageByPage) {
  HubRepoOptions options;
  options.page_size = 2;
  hub_.set_options("org/name", options);
  Snapshot snapshot = open();
  const std::vector<RepoFile> missing = snapshot.missing(snapshot.paths(), {});
  EXPECT_EQ(missing.size(), files + 1U);
  EXPECT_GE(hub_.requests({HubHost::api, "/tree/", ""}).size(), 4U);
}

TEST_F(SnapshotTest, ListsWhatTheLookUpLeavesOut) {
  HubRepoOptions options;
  options.lists_siblings = false;
  hub_.set_options("org/name", options);
  EXPECT_EQ(open().paths().size(), files + 1U);
}

TEST_F(SnapshotTest, DoesNotFollowAListingToAnotherHost) {
  hub_.inject({HubHost::api, "/tree/", ""}, with_header("Link", "<" + hub_.storage_origin() + "/x>; rel=\"next\""));
  Snapshot snapshot = open();
  EXPECT_THROW(snapshot.missing(snapshot.paths(), {}), Error);
  EXPECT_TRUE(hub_.requests(of_storage).empty());
}

TEST_F(SnapshotTest, EndsAListingThatPointsToItself) {
  hub_.inject({HubHost::api, "/tree/", ""}, with_header("Link", "<?recursive=true&expand=false>; rel=\"next\""), 1000);
  Snapshot snapshot = open();
  EXPECT_THROW(snapshot.missing(snapshot.paths(), {}), Error);
  EXPECT_LE(hub_.requests().size(), 4U);
}

TEST_F(SnapshotTest, ListsWhatIsMissingInTheOrderAskedFor) {
  const std::vector<std::string> wanted{"l03h00q/data.parquet", "config.json", "l01h00q/data.parquet"};
  Snapshot snapshot = open();
  std::vector<std::string> listed;
  for (const RepoFile& file : snapshot.missing(wanted, {})) listed.push_back(file.path);
  EXPECT_EQ(listed, wanted);
}

TEST_F(SnapshotTest, RefusesAListingWithoutAFileThatIsNamed) {
  hub_.inject({HubHost::api, "/tree/", ""},
              with_body(R"([{"type":"file","path":"z","size":1,"oid":")" + std::string(40, 'a') + "\"}]"));
  Snapshot snapshot = open();
  EXPECT_THROW(snapshot.missing({"config.json"}, {}), Error);
}

class VerifiedSnapshot : public SnapshotTest {
 protected:
  VerifiedSnapshot() {
    Snapshot snapshot = open();
    fetch_all(snapshot);
    snapshot.note_revision();
  }

  /// Changes one byte of a file of the cache, so that its size stays.
  void damage(const Snapshot& snapshot, const std::string& path) const {
    const fs::path file = fs::canonical(snapshot.folder() / path);
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    stream.put('#');
  }

  std::string refusal_of_verify(Snapshot& snapshot) {
    try {
      snapshot.verify(snapshot.paths(), notes_, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::network);
      return error.what();
    }
    return "no error";
  }
};

TEST_F(VerifiedSnapshot, OfRightFilesIsLeftAlone) {
  Snapshot snapshot = open();
  snapshot.verify(snapshot.paths(), notes_, {});
  EXPECT_TRUE(notes_.empty());
  EXPECT_TRUE(snapshot.missing(snapshot.paths(), {}).empty());
}

TEST_F(VerifiedSnapshot, MissesWrongFilesAndFetchesThemAgain) {
  Snapshot snapshot = open();
  damage(snapshot, "l02h00q/data.parquet");  // its digest is SHA-256
  damage(snapshot, "config.json");           // its digest is Git's
  snapshot.verify(snapshot.paths(), notes_, {});
  ASSERT_EQ(notes_.size(), 2U);
  for (const std::string& note : notes_) {
    EXPECT_NE(note.find("as the Hub says: the cached file is damaged; it is fetched again"), std::string::npos) << note;
  }
  EXPECT_EQ(snapshot.missing(snapshot.paths(), {}).size(), 2U);
  fetch_all(snapshot);
  notes_.clear();
  snapshot.verify(snapshot.paths(), notes_, {});
  EXPECT_TRUE(notes_.empty());
}

TEST_F(VerifiedSnapshot, OfflineRefusesAWrongFile) {
  settings_.offline = true;
  Snapshot snapshot = open();
  EXPECT_EQ(refusal_of_verify(snapshot), "no error");
  damage(snapshot, "config.json");
  const std::string message = refusal_of_verify(snapshot);
  EXPECT_EQ(message.find("its Git SHA-1 is not "), 0U) << message;
  EXPECT_NE(message.find("the cached file is damaged, and the Hub is offline or out of reach; run again online"),
            std::string::npos)
      << message;
  EXPECT_TRUE(snapshot.has("config.json")) << "nothing is removed that cannot be fetched";
}

TEST_F(VerifiedSnapshot, OfflineRefusesACopyWhoseDigestIsUnknown) {
  settings_.offline = true;
  Snapshot snapshot = open();
  const fs::path file = snapshot.folder() / "config.json";
  const fs::path content = fs::canonical(file);
  fs::remove(file);
  fs::copy_file(content, file);
  EXPECT_NE(refusal_of_verify(snapshot).find("cannot be verified, because its digest is known to the Hub alone"),
            std::string::npos);
}

TEST_F(SnapshotTest, NeedsNoCacheThatCanBeWrittenTo) {
  fs::create_directories(settings_.cache / "datasets--org--name");
  std::ofstream(settings_.cache / "datasets--org--name/refs") << "a file where a folder must be";
  EXPECT_NO_THROW(open().note_revision());
}

TEST_F(SnapshotTest, NotesItsRevisionForLater) {
  const Snapshot snapshot = open();
  snapshot.note_revision();
  EXPECT_EQ(snapshot.cache().commit_of("main"), snapshot.commit());
}

TEST_F(SnapshotTest, OfflineIsTakenFromTheCache) {
  Snapshot online = open();
  fetch_all(online);
  online.note_revision();
  hub_.reset();
  settings_.offline = true;
  Snapshot offline = open();
  EXPECT_TRUE(offline.is_from_cache());
  EXPECT_EQ(offline.commit(), online.commit());
  EXPECT_EQ(std::set<std::string>(offline.paths().begin(), offline.paths().end()),
            std::set<std::string>(online.paths().begin(), online.paths().end()));
  EXPECT_EQ(open(online.commit()).commit(), online.commit());
  EXPECT_TRUE(hub_.requests().empty());
}

TEST_F(SnapshotTest, OfflineAndNotCachedIsAnError) {
  settings_.offline = true;
  const Error error = refusal("main");
  EXPECT_EQ(error.kind(), ErrorKind::network);
  EXPECT_NE(std::string(error.what()).find("HF_HUB_OFFLINE is set, and org/name at main is not in the cache"),
            std::string::npos)
      << error.what();
}

TEST_F(SnapshotTest, OfflineAndWithoutFilesIsNotInTheCache) {
  open().note_revision();
  settings_.offline = true;
  EXPECT_EQ(refusal("main").kind(), ErrorKind::network);
}

TEST_F(SnapshotTest, OfflineNeverAsksTheHub) {
  Snapshot online = open();
  Downloads(online, online.missing({"config.json"}, {}), 1, observer(), {}).wait_for("config.json");
  online.note_revision();
  hub_.reset();
  settings_.offline = true;
  Snapshot offline = open();
  try {
    offline.missing({"config.json", "l00h00q/data.parquet"}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::network);
    EXPECT_NE(std::string(error.what()).find("l00h00q/data.parquet of org/name"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(offline.refs({}).branches.empty());
  EXPECT_TRUE(hub_.requests().empty());
}

TEST_F(SnapshotTest, AsksABusyHubOnceMoreWhereTheCacheCanAnswer) {
  Snapshot online = open();
  fetch_all(online);
  online.note_revision();
  hub_.reset();
  hub_.inject({HubHost::api, "", ""}, refuse_with(503), 100);
  EXPECT_TRUE(open().is_from_cache());
  EXPECT_EQ(hub_.requests().size(), 2U);
}

TEST_F(SnapshotTest, GoesOnWithTheCacheWhenTheHubCannotBeReached) {
  Snapshot online = open();
  fetch_all(online);
  online.note_revision();
  settings_.endpoint = "http://127.0.0.1:1";
  const Snapshot cached = open();
  EXPECT_TRUE(cached.is_from_cache());
  EXPECT_EQ(cached.commit(), online.commit());
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("going on with what the cache holds"), std::string::npos) << notes_[0];
}

TEST_F(SnapshotTest, OfARepositoryThatIsGoneIsNotTakenFromTheCache) {
  Snapshot online = open();
  fetch_all(online);
  online.note_revision();
  hub_.inject({HubHost::api, "", ""}, refuse_with(404, {{"X-Error-Code", "RepoNotFound"}}), 10);
  EXPECT_EQ(refusal("main").kind(), ErrorKind::access);
}

TEST_F(SnapshotTest, NamesTheRevisionsNearestToAWrongOne) {
  const Error error = refusal("qwen3-8b-lang");
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_NE(std::string(error.what()).find("there are qwen3-8b-long, main"), std::string::npos) << error.what();
}

TEST_F(SnapshotTest, TellsOfMissingPrivateGatedAndDisabledRepositories) {
  EXPECT_EQ(refusal("main", "org/nothing").kind(), ErrorKind::access);
  HubRepoOptions options;
  options.is_private = true;
  options.token = "hf_right";
  hub_.set_options("org/name", options);
  EXPECT_EQ(refusal("main").kind(), ErrorKind::access);
  settings_.token = "hf_wrong";
  const Error wrong = refusal("main");
  EXPECT_EQ(wrong.kind(), ErrorKind::access);
  EXPECT_NE(std::string(wrong.what()).find("token"), std::string::npos) << wrong.what();
  EXPECT_EQ(std::string(wrong.what()).find("hf_wrong"), std::string::npos) << wrong.what();
  settings_.token = "hf_right";
  EXPECT_EQ(open().paths().size(), files + 1U);
}

TEST_F(SnapshotTest, RefusesAPathThatLeavesTheFolder) {
  for (const char* path : {"../../outside", "/absolute", "a/../../b"}) {
    hub_.add_file("org/name", "evil", path, std::string(20'000, 'x'), true);
    const Error error = refusal("evil");
    EXPECT_EQ(error.kind(), ErrorKind::input) << path;
    EXPECT_NE(std::string(error.what()).find("leaves the folder"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(folder_.names().empty()) << "nothing was written";
}

TEST_F(SnapshotTest, RefusesAPathThatLeavesTheFolderInTheListing) {
  hub_.inject({HubHost::api, "/tree/", ""},
              with_body(R"([{"type":"file","path":"../x","size":1,"oid":")" + std::string(40, 'a') + "\"}]"));
  Snapshot snapshot = open();
  try {
    snapshot.missing(snapshot.paths(), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
  }
}

TEST_F(SnapshotTest, RefusesNamesThatAreNone) {
  for (const char* repo : {"", "a/b/c", "../x", "org/na me", "https://hub/org/name", "/org/name"}) {
    EXPECT_EQ(refusal("main", repo).kind(), ErrorKind::usage) << repo;
  }
  for (const char* revision : {"", "../x", "/x", "a//b"}) {
    EXPECT_EQ(refusal(revision).kind(), ErrorKind::usage) << revision;
  }
  EXPECT_TRUE(hub_.requests().empty());
}

TEST_F(SnapshotTest, DoesNotUnderstandWhatIsNoListing) {
  hub_.inject({HubHost::api, "/revision/", ""}, html_page());
  EXPECT_EQ(refusal("main").kind(), ErrorKind::network);
}

TEST_F(SnapshotTest, AsksAgainWhenTheHubIsBusy) {
  hub_.inject({HubHost::api, "", ""}, refuse_with(503), 2);
  EXPECT_EQ(open().paths().size(), files + 1U);
  hub_.inject({HubHost::api, "", ""}, refuse_with(429, {{"Retry-After", "1"}}), 10);
  EXPECT_EQ(refusal("main").kind(), ErrorKind::network);
}

TEST_F(SnapshotTest, NeedsAFolderForTheCache) {
  settings_.cache.clear();
  EXPECT_EQ(refusal("main").kind(), ErrorKind::usage);
}

}  // namespace
}  // namespace attention_plasticity
