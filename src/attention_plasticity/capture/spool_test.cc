#include "attention_plasticity/capture/spool.h"

#include <gtest/gtest.h>

#include <fstream>

#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/capture/small_capture_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

const std::vector<int> q_heads{0, 1, 2};
const std::vector<int> k_heads{0};
const std::vector<std::int64_t> q_positions{3, 5};
const std::vector<std::int64_t> k_positions{1, 2, 9};

void add(Spool& spool, std::uint64_t document, int layer) {
  spool.add(document, layer, SmallTensor(document, layer, Side::query, q_heads, q_positions, 4).view(),
            SmallTensor(document, layer, Side::key, k_heads, k_positions, 4).view());
}

void expect_whole(const Spool& spool, std::uint64_t document, int layer) {
  const SpooledLayer* found = spool.find(document, layer);
  ASSERT_NE(found, nullptr);
  for (const Side side : {Side::query, Side::key}) {
    const auto& positions = side == Side::query ? q_positions : k_positions;
    const auto& heads = side == Side::query ? q_heads : k_heads;
    for (std::size_t head = 0; head < heads.size(); ++head) {
      std::vector<float> values(positions.size() * 4);
      spool.read(*found, side, head, values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(values[i], small_value(document, layer, side, heads[head], positions[i / 4], i % 4));
      }
    }
  }
}

TEST(Spool, GivesBackWhatWasAddedInAnyOrder) {
  const TemporaryFolder folder;
  {
    Spool spool(folder / "spool");
    add(spool, 7, 0);
    add(spool, 2, 0);
    add(spool, 7, 1);
    spool.end(7, 12);
    add(spool, 2, 1);
    spool.end(2, 10);
    add(spool, 9, 0);
    expect_whole(spool, 7, 1);
  }
  const Spool again(folder / "spool");
  EXPECT_EQ(again.finished(), (std::map<std::uint64_t, std::size_t>{{2, 10}, {7, 12}}));
  for (const std::uint64_t document : {2U, 7U}) {
    for (const int layer : {0, 1}) expect_whole(again, document, layer);
  }
  EXPECT_EQ(again.find(9, 0), nullptr) << "its document has no end";
  EXPECT_EQ(again.find(7, 2), nullptr);
}

// Whatever length is left of the file, it holds the documents whose end is within, and takes new ones.
TEST(Spool, CutAnywhereKeepsWholeDocuments) {
  const TemporaryFolder folder;
  std::vector<std::uint64_t> ends;
  {
    Spool spool(folder / "whole");
    for (const std::uint64_t document : {0U, 1U, 2U}) {
      add(spool, document, 0);
      spool.end(document, 10);
      ends.push_back(fs::file_size(folder / "whole"));
    }
  }
  const std::string bytes = read_file_bytes(folder / "whole");
  for (std::size_t length = 0; length <= bytes.size(); length += 7) {
    const fs::path file = folder / "cut";
    std::ofstream(file, std::ios::binary) << bytes.substr(0, length);
    std::size_t expected = 0;
    while (expected < 3 && ends[expected] <= length) ++expected;
    {
      Spool spool(file);
      ASSERT_EQ(spool.finished().size(), expected) << length;
      add(spool, 5, 0);
      spool.end(5, 11);
    }
    const Spool again(file);
    ASSERT_EQ(again.finished().size(), expected + 1);
    expect_whole(again, 5, 0);
    for (std::size_t document = 0; document < expected; ++document) expect_whole(again, document, 0);
  }
}

TEST(Spool, ChangedBytesEndWhatIsRead) {
  const TemporaryFolder folder;
  {
    Spool spool(folder / "whole");
    for (const std::uint64_t document : {0U, 1U}) {
      add(spool, document, 0);
      spool.end(document, 10);
    }
  }
  const std::string bytes = read_file_bytes(folder / "whole");
  for (std::size_t at = 0; at < bytes.size(); at += 5) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    std::ofstream(folder / "changed", std::ios::binary) << changed;
    const Spool spool(folder / "changed");
    ASSERT_LT(spool.finished().size(), 2U) << at;
    for (const auto& [document, length] : spool.finished()) expect_whole(spool, document, 0);
  }
}

}  // namespace
}  // namespace attention_plasticity
