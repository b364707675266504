#include "attention_plasticity/store/store.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

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
