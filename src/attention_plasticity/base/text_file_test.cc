#include "attention_plasticity/base/text_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"

namespace attention_plasticity {
namespace {

void write(const std::filesystem::path& file, std::string_view text) { std::ofstream(file, std::ios::binary) << text; }

TEST(TextFile, IsReadWholeWithoutItsByteOrderMark) {
  const TemporaryFolder folder;
  write(folder / "a", "\xEF\xBB\xBFtext\n");
  EXPECT_EQ(read_text_file(folder / "a"), "text\n");
  EXPECT_EQ(read_file_bytes(folder / "a"), "\xEF\xBB\xBFtext\n");
  write(folder / "empty", "");
  EXPECT_EQ(read_text_file(folder / "empty"), "");
  const std::string large(1'000'001, 'x');
  write(folder / "large", large);
  EXPECT_EQ(read_file_bytes(folder / "large"), large);
  EXPECT_FALSE(read_file_bytes("/proc/self/status").empty()) << "a file that has no size";
}

TEST(TextFile, IsRefusedAboveItsLimit) {
  const TemporaryFolder folder;
  write(folder / "a", std::string(2048, 'x'));
  EXPECT_EQ(read_file_bytes(folder / "a", 2048).size(), 2048U);
  EXPECT_EQ(refusal([&] { read_file_bytes(folder / "a", 2047); }),
            "input: " + (folder / "a").string() + ": is larger than 2.0 KiB, too large for a file of this kind");
  // A hole of a terabyte takes no space, and is not read.
  write(folder / "hole", "");
  std::filesystem::resize_file(folder / "hole", std::uintmax_t{1} << 40U);
  EXPECT_EQ(refusal([&] { read_text_file(folder / "hole"); }),
            "input: " + (folder / "hole").string() + ": is larger than 16.0 MiB, too large for a file of this kind");
}

TEST(TextFile, IsReadInPiecesUntilEnoughIsRead) {
  const TemporaryFolder folder;
  const std::string large(1'000'001, 'x');
  write(folder / "large", large);
  std::string read;
  const auto take = [&](std::string_view piece) {
    read += piece;
    return true;
  };
  read_file_pieces(folder / "large", take);
  EXPECT_EQ(read, large);
  int pieces = 0;
  read_file_pieces(folder / "large", [&](std::string_view) { return ++pieces < 2; });
  EXPECT_EQ(pieces, 2);
  EXPECT_EQ(refusal([&] { read_file_pieces("/dev/zero", take); }),
            "input: /dev/zero: is a pipe, a device or the like, and should be a file");
}

TEST(TextFile, IsAFileAndNothingElse) {
  const TemporaryFolder folder;
  const auto pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal([&] { read_text_file(pipe); }),
            "input: " + pipe.string() + ": is a pipe, a device or the like, and should be a file");
  EXPECT_EQ(refusal([&] { read_text_file("/dev/zero"); }),
            "input: /dev/zero: is a pipe, a device or the like, and should be a file");
  EXPECT_EQ(refusal([&] { read_text_file(folder.path()); }),
            "input: " + folder.path().string() + ": is a folder and should be a file");
  EXPECT_EQ(refusal([&] { read_text_file(folder / "none"); }),
            "input: " + (folder / "none").string() + ": there is no such file");
}

}  // namespace
}  // namespace attention_plasticity
