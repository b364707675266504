#include "attention_plasticity/report/packed_blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "attention_plasticity/report/packed_blocks_testing.h"

namespace attention_plasticity {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Reads a number as the page does.
double rounded_at(const PackedBlocks& blocks, const PackedBlock& block, std::size_t i) {
  const auto code = number_at<std::uint16_t>(blocks.bytes(), block.offset + 2 * i);
  return code == 65535 ? nan : code / 65534.0 * block.scale;
}

TEST(PackedBlocks, ExactNumbersKeepTheirBitsAndNan) {
  PackedBlocks blocks;
  const std::vector<double> values{0.1, -3e300, nan, 5e-324};
  const PackedBlock block = blocks.add_exact(values);
  EXPECT_EQ(block.count, 4U);
  EXPECT_EQ(number_at<double>(blocks.bytes(), block.offset), 0.1);
  EXPECT_EQ(number_at<double>(blocks.bytes(), block.offset + 8), -3e300);
  EXPECT_TRUE(std::isnan(number_at<double>(blocks.bytes(), block.offset + 16)));
  EXPECT_EQ(number_at<double>(blocks.bytes(), block.offset + 24), 5e-324);
}

TEST(PackedBlocks, BlocksBeginAtMultiplesOfEightBytes) {
  PackedBlocks blocks;
  const std::vector<int> three{1, -2, 3};
  const std::vector<double> one{0.5};
  blocks.add_integers(three);
  const PackedBlock second = blocks.add_rounded(one);
  const PackedBlock third = blocks.add_exact(one);
  EXPECT_EQ(second.offset, 16U);
  EXPECT_EQ(third.offset, 24U);
  EXPECT_EQ(blocks.bytes().size(), 32U);
  EXPECT_EQ(number_at<std::int32_t>(blocks.bytes(), 4), -2);
  EXPECT_EQ(number_at<double>(blocks.bytes(), third.offset), 0.5);
}

TEST(PackedBlocks, RoundedNumbersAreOffByAtMostHalfAStepOfTheLargest) {
  std::mt19937 generator(7);
  for (const double largest : {1.0, 0.03, 512.0}) {
    std::uniform_real_distribution<double> draw(0, largest);
    std::vector<double> values{0, largest, nan};
    for (int i = 0; i < 1000; ++i) values.push_back(draw(generator));
    PackedBlocks blocks;
    const PackedBlock block = blocks.add_rounded(values);
    ASSERT_EQ(block.count, values.size());
    EXPECT_EQ(rounded_at(blocks, block, 0), 0);
    EXPECT_EQ(rounded_at(blocks, block, 1), largest);
    EXPECT_TRUE(std::isnan(rounded_at(blocks, block, 2)));
    for (std::size_t i = 3; i < values.size(); ++i) {
      EXPECT_LE(std::abs(rounded_at(blocks, block, i) - values[i]), largest / 131068 * (1 + 1e-9));
    }
  }
}

TEST(PackedBlocks, BlocksWithoutAPositiveNumberHaveAScaleOfOne) {
  PackedBlocks blocks;
  EXPECT_EQ(blocks.add_rounded({}).count, 0U);
  const std::vector<double> values{0, nan, -1e-12};
  const PackedBlock block = blocks.add_rounded(values);
  EXPECT_EQ(block.scale, 1);
  EXPECT_EQ(rounded_at(blocks, block, 0), 0);
  EXPECT_TRUE(std::isnan(rounded_at(blocks, block, 1)));
  EXPECT_EQ(rounded_at(blocks, block, 2), 0);
}

TEST(PackedBlocks, CompressedTextIsZlibInBase64) {
  PackedBlocks blocks;
  std::vector<double> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  blocks.add_rounded(values);
  EXPECT_EQ(unpacked_bytes(blocks.compressed_text()), blocks.bytes());
}

// The test vectors of RFC 4648, section 10, and bytes above 127.
TEST(PackedBlocks, Base64IsPadded) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe"), "//4=");
  // More than is encoded in one piece.
  const std::string letters = base64(std::string((std::size_t{3} << 20U) + 1, 'f'));
  EXPECT_EQ(letters.size(), (std::size_t{4} << 20U) + 4);
  EXPECT_EQ(letters.find_first_not_of("Zm"), letters.size() - 3);
  EXPECT_TRUE(letters.ends_with("ZmZmZg=="));
}

// Long bytes are encoded in chunks. Where a text is cut after a multiple of 3 bytes must not show in the result.
TEST(PackedBlocks, Base64OfLongBytesIsThatOfTheirParts) {
  std::string bytes(7'000'001, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i % 251);
  std::string parts;
  for (std::size_t at = 0; at < bytes.size(); at += 999) parts += base64(std::string_view(bytes).substr(at, 999));
  const std::string whole = base64(bytes);
  EXPECT_TRUE(whole == parts);
  EXPECT_EQ(whole.find('='), whole.size() - 1);
}

}  // namespace
}  // namespace attention_plasticity
