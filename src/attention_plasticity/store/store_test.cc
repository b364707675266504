#include "attention_plasticity/store/store.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

class StoreOnDisk : public testing::Test {
 protected:
  StoreOnDisk() {
    fs::create_directories(folder_ / "below");
    std::ofstream(folder_ / "below" / "file") << "0123456789";
  }

  std::string address() const { return "file://" + folder_.path().string(); }
  TemporaryFolder folder_;
};

TEST_F(StoreOnDisk, ListsFilesWithTheirSizes) {
  const std::vector<ListedObject> listed = Store(StoreAddress(address())).list();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].path, "below/file");
  EXPECT_EQ(listed[0].bytes, 10U);
  EXPECT_GT(listed[0].modified_ns, 0);
}

TEST_F(StoreOnDisk, ReadsAPart) {
  std::array<std::uint8_t, 3> part{};
  Store(StoreAddress(address())).read("below/file", 10, 4, part);
  EXPECT_EQ(part, (std::array<std::uint8_t, 3>{'4', '5', '6'}));
}

TEST_F(StoreOnDisk, NoticesAnAnswerThatEndsTooEarly) {
  std::array<std::uint8_t, 8> part{};
  try {
    Store(StoreAddress(address())).read("below/file", 12, 4, part);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::network);
    EXPECT_STREQ(error.what(), "the answer ends after 6 of 8 bytes; check the address and the network, and try again");
    EXPECT_EQ(error.file(), address() + "/below/file");
  }
}

TEST_F(StoreOnDisk, PutsReadsAndRemovesAWholeFile) {
  const Store store((StoreAddress(address())));
  store.put("new/table.csv", "a,b\n");
  EXPECT_EQ(store.read_all("new/table.csv"), "a,b\n");
  EXPECT_EQ(store.state("new/table.csv").bytes, 4U);
  store.remove("new/table.csv");
  store.remove("new/table.csv");
  EXPECT_THROW(store.read_all("new/table.csv"), Error);
}

TEST_F(StoreOnDisk, ReadsAFileByItsAddress) {
  EXPECT_EQ(read_stored_file(address() + "/below/file"), "0123456789");
  EXPECT_THROW(read_stored_file(address() + "/below/"), Error);
}

TEST(Store, NamesAFileSoThatItCanBeFoundAgain) {
  const StoreSession session;  // the client of S3 must end before the process does
  const Store store(StoreAddress("s3://KEY:SECRET@b/d?region=eu-west-1&endpoint_override=127.0.0.1:9&scheme=http"));
  EXPECT_EQ(store.recorded("plan.json"),
            "s3://b/d/plan.json?region=eu-west-1&endpoint_override=127.0.0.1:9&scheme=http");
}

TEST_F(StoreOnDisk, LeavesAListingThatIsTooLong) {
  const Store store((StoreAddress(address())));
  EXPECT_EQ(store.list(2).size(), 1U);  // the folder counts as well
  std::ofstream(folder_ / "below" / "other") << "1";
  try {
    store.list(2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_STREQ(error.what(), "has more than 2 files and folders, too many for a dump; check the address");
  }
}

TEST_F(StoreOnDisk, DoesNotReadAFileThatIsTooLargeForItsKind) {
  try {
    Store(StoreAddress(address())).read_all("below/file", 9);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_STREQ(error.what(), "is larger than 0.0 KiB, too large for a file of this kind");
  }
}

TEST_F(StoreOnDisk, TellsAMissingFileFromANetworkThatFails) {
  const Store store((StoreAddress(address() + "/nowhere")));
  for (const auto& ask :
       std::vector<std::function<void()>>{[&] { store.read_all("run.json"); }, [&] { store.state("run.json"); }}) {
    try {
      ask();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_STREQ(error.what(), "there is no such file");
      EXPECT_EQ(error.file(), address() + "/nowhere/run.json");
    }
  }
}

TEST(Store, OfABadAddressIsAnErrorWithoutItsSecret) {
  try {
    const Store store(StoreAddress("abfs://user:hidden@%%%/x?what=hidden2"));
    store.list();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("hidden"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace attention_plasticity
