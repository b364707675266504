#include "attention_plasticity/dump/dump_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/error.h"
#include "places.h"

// A store of files on disk (file://) has all of a store but the network. tests/stores has S3.

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

class StoredDump : public testing::Test {
 protected:
  StoredDump() {
    fs::copy(source_folder() / "examples" / "minidoc-qwen3" / "l00h00q", folder_ / "l00h00q");
    std::ofstream(folder_ / "config.json") << "{}";
  }

  StoreAddress address() const { return StoreAddress("file://" + folder_.path().string()); }
  fs::path in_store() const { return fs::path(address().shown()) / "l00h00q" / "data.parquet"; }
  fs::path on_disk() const { return folder_ / "l00h00q" / "data.parquet"; }

  TemporaryFolder folder_;
};

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(StoredFiles, OfBothExampleDumpsHoldTheRowsOfThoseOnDisk) {
  for (const char* name : {"minidoc-qwen3", "smollm2-135m"}) {
    const fs::path folder = source_folder() / "examples" / name;
    const DumpLayout stored = find_heads_in_store(StoreAddress("file://" + folder.string()), "");
    const DumpLayout disk = find_heads(folder, "");
    ASSERT_EQ(stored.queries, disk.queries);
    ASSERT_EQ(stored.keys, disk.keys);
    for (const HeadNumber& head : disk.queries) {
      const HeadFile one = read_head_file(stored.files().open(stored.file(Side::query, head)), Side::query);
      const HeadFile other = read_head_file(disk.file(Side::query, head), Side::query);
      EXPECT_EQ(one.rows.vectors, other.rows.vectors);
      EXPECT_EQ(one.rows.position, other.rows.position);
      EXPECT_EQ(one.rows.bucket, other.rows.bucket);
      EXPECT_EQ(one.rows.example, other.rows.example);
      EXPECT_EQ(one.rows.window, other.rows.window);
      EXPECT_EQ(one.input.file_bytes, other.input.file_bytes);
      EXPECT_TRUE(one.input.digest.empty());
      stored.files().release(stored.file(Side::query, head));
    }
  }
}

TEST_F(StoredDump, TellsAFileThatChangedAfterTheListing) {
  const StoredFiles files(address());
  fs::last_write_time(on_disk(), fs::last_write_time(on_disk()) + std::chrono::seconds(7));
  EXPECT_EQ(error_of([&] { read_head_file(files.open(in_store()), Side::query); }),
            "the file was replaced or changed after the run began; run again when nothing writes to the dump");
}

TEST_F(StoredDump, ReadsNothingTwice) {
  const StoredFiles files(address());
  fetch_head_file(files.open(in_store()), Side::query, HeadPart::rows);
  const HeadRows before = read_head_file(on_disk(), Side::query).rows;
  // What was fetched is in memory, so that nothing notices.
  fs::remove(on_disk());
  EXPECT_EQ(read_head_file(files.open(in_store()), Side::query).rows.vectors, before.vectors);
  files.release(in_store());
  EXPECT_NE(error_of([&] { read_head_file(files.open(in_store()), Side::query); }), "");
}

TEST_F(StoredDump, SaysWhatAFileIsThatIsNotParquet) {
  fs::resize_file(on_disk(), 1000);
  EXPECT_EQ(error_of([&] { read_head_file(StoredFiles(address()).open(in_store()), Side::query); }),
            "the Parquet file is truncated: it ends after 1000 bytes without its footer; download or capture this head "
            "again");
  std::ofstream(on_disk()) << "<html>404</html>";
  EXPECT_EQ(error_of([&] { read_head_file(StoredFiles(address()).open(in_store()), Side::query); }),
            "this is an HTML page, not a Parquet file: the download went wrong; download this head again");
  std::ofstream(on_disk(), std::ios::trunc).close();
  EXPECT_EQ(error_of([&] { read_head_file(StoredFiles(address()).open(in_store()), Side::query); }),
            "the file is empty; download or capture this head again");
}

TEST_F(StoredDump, KnowsItsFilesByTheListing) {
  const StoredFiles files(address());
  EXPECT_TRUE(files.are_remote());
  EXPECT_EQ(files.paths(), (std::vector<std::string>{"config.json", "l00h00q/data.parquet"}));
  EXPECT_EQ(files.listed(in_store())->bytes, fs::file_size(on_disk()));
  EXPECT_FALSE(files.listed(files.root() / "none"));
  EXPECT_EQ(files.text(files.root() / "config.json"), "{}");
  EXPECT_EQ(error_of([&] { files.open(files.root() / "none"); }),
            "the file does not exist; download or capture this head again");
}

TEST_F(StoredDump, WithoutFilesIsAnError) {
  EXPECT_EQ(error_of([&] { find_heads_in_store(StoreAddress("file://" + folder_.path().string() + "/none"), ""); }),
            "there is no such folder in the store, or it is empty; check the address");
}

}  // namespace
}  // namespace attention_plasticity
