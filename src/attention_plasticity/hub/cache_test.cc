#include "attention_plasticity/hub/cache.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

const std::string commit(40, 'c');
const std::string etag(64, 'e');

class Cache : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  HubCache cache_{folder_.path(), "org/name", true};
  HubCache without_links_{folder_.path(), "org/name", false};
};

TEST_F(Cache, IsLaidOutAsThePythonClientHasIt) {
  EXPECT_EQ(cache_.blob("e"), folder_ / "datasets--org--name/blobs/e");
  EXPECT_EQ(cache_.partial_blob("e"), folder_ / "datasets--org--name/blobs/e.incomplete");
  EXPECT_EQ(cache_.lock_file("e"), folder_ / ".locks/datasets--org--name/e.lock");
  EXPECT_EQ(cache_.file("c", "a/b"), folder_ / "datasets--org--name/snapshots/c/a/b");
}

TEST_F(Cache, NotesTheCommitOfARevisionWithoutANewline) {
  EXPECT_EQ(cache_.commit_of("refs/pr/1"), std::nullopt);
  cache_.set_commit("refs/pr/1", commit);
  EXPECT_EQ(read_text_file(folder_ / "datasets--org--name/refs/refs/pr/1"), commit);
  EXPECT_EQ(cache_.commit_of("refs/pr/1"), commit);
  cache_.set_commit("refs/pr/1", std::string(40, 'd'));
  EXPECT_EQ(cache_.commit_of("refs/pr/1"), std::string(40, 'd'));
  EXPECT_EQ(folder_.names().size(), 5U) << "no temporary file stays";
}

TEST_F(Cache, ReplacesANoteWhole) {
  cache_.set_commit("main", commit);
  // The hard link shows what a reader sees who has the old file open.
  fs::create_hard_link(folder_ / "datasets--org--name/refs/main", folder_ / "opened");
  cache_.set_commit("main", std::string(40, 'd'));
  EXPECT_EQ(read_text_file(folder_ / "opened"), commit) << "the old file was overwritten";
}

TEST_F(Cache, NeedsNoNoteOfACommit) {
  EXPECT_EQ(cache_.commit_of(commit), commit);
  cache_.set_commit(commit, commit);
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(Cache, IgnoresANoteThatIsNoCommit) {
  write_file_atomically(folder_ / "datasets--org--name/refs/main", "../../elsewhere");
  EXPECT_EQ(cache_.commit_of("main"), std::nullopt);
}

TEST_F(Cache, LinksFilesToBlobsByRelativePaths) {
  write_file_atomically(cache_.blob(etag), "content");
  cache_.place(etag, commit, "a/b/data.parquet", true);
  EXPECT_EQ(fs::read_symlink(cache_.file(commit, "a/b/data.parquet")), "../../../../blobs/" + etag);
  cache_.place(etag, commit, "top", false);
  EXPECT_EQ(fs::read_symlink(cache_.file(commit, "top")), "../../blobs/" + etag);
  EXPECT_TRUE(cache_.holds_file(commit, "a/b/data.parquet"));
  EXPECT_EQ(cache_.paths(commit), (std::vector<std::string>{"a/b/data.parquet", "top"}));
}

TEST_F(Cache, MendsALinkThatLeadsNowhere) {
  write_file_atomically(cache_.blob(etag), "content");
  fs::create_directories(cache_.snapshot(commit));
  fs::create_symlink("../../blobs/gone", cache_.file(commit, "x"));
  EXPECT_FALSE(cache_.holds_file(commit, "x"));
  cache_.place(etag, commit, "x", false);
  EXPECT_EQ(read_text_file(cache_.file(commit, "x")), "content");
}

TEST_F(Cache, WithoutLinksMovesANewBlobAndCopiesAnOldOne) {
  write_file_atomically(without_links_.blob(etag), "content");
  without_links_.place(etag, commit, "copy", false);
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(without_links_.file(commit, "copy"))));
  EXPECT_TRUE(without_links_.holds_blob(etag));
  without_links_.place(etag, commit, "moved", true);
  EXPECT_EQ(read_text_file(without_links_.file(commit, "moved")), "content");
  EXPECT_FALSE(without_links_.holds_blob(etag));
}

TEST_F(Cache, WithoutLinksShowsNoHalfOfACopy) {
  write_file_atomically(without_links_.blob(etag), std::string(100'000, 'x'));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10'000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  bool is_told = false;
  try {
    without_links_.place(etag, commit, "copy", false);
  } catch (const Error&) {
    is_told = true;
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(is_told);
  EXPECT_FALSE(without_links_.holds_file(commit, "copy"));
}

TEST_F(Cache, IsMarkedForBackups) {
  cache_.prepare();
  EXPECT_TRUE(read_text_file(folder_ / "CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
  write_file_atomically(folder_ / "CACHEDIR.TAG", "another program's");
  cache_.prepare();
  EXPECT_EQ(read_text_file(folder_ / "CACHEDIR.TAG"), "another program's");
}

TEST_F(Cache, TellsWhatCannotBeWritten) {
  write_file_atomically(folder_ / "datasets--org--name", "a file where a folder must be");
  EXPECT_THROW(cache_.prepare(), Error);
  EXPECT_THROW(cache_.set_commit("main", commit), Error);
}

std::string digest_of(const std::string& content, bool is_large) {
  ContentDigest digest({"x", content.size(), "", is_large});
  digest.add(content);
  return digest.finish();
}

TEST(ContentDigest, OfALargeFileIsSha256) {
  // FIPS 180-2, appendix B.
  EXPECT_EQ(digest_of("abc", true), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of("", true), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(ContentDigest, OfASmallFileIsGitsObjectName) {
  // `printf 'hello\n' | git hash-object --stdin`, and of nothing.
  EXPECT_EQ(digest_of("hello\n", false), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(digest_of("", false), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

RC_GTEST_PROP(ContentDigest, DoesNotDependOnThePieces, (const std::string& first, const std::string& second)) {
  for (const bool is_large : {false, true}) {
    ContentDigest digest({"x", first.size() + second.size(), "", is_large});
    digest.add("what was fetched in vain");
    digest.reset();
    digest.add(first);
    digest.add(second);
    RC_ASSERT(digest.finish() == digest_of(first + second, is_large));
  }
}

}  // namespace
}  // namespace attention_plasticity
