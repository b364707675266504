#include "attention_plasticity/dump/dump_files.h"

#include <arrow/type.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "attention_plasticity/dump/crafted_parquet_testing.h"
#include "attention_plasticity/dump/file_bytes.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/odd_parquet_testing.h"
#include "attention_plasticity/dump/parquet_file.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

const std::string run_again = "; run again when nothing writes to the dump";

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string digest(const std::string& text) {
  FileDigest digest;
  // In uneven pieces.
  for (std::size_t at = 0, piece = 1; at < text.size(); at += piece, piece = 2 * piece + 1) {
    digest.add(bytes_of(text).subspan(at, std::min(piece, text.size() - at)));
  }
  return digest.finish();
}

TEST(InputFile, ReadsFromAnyPlaceAndSaysWhenItEnds) {
  const TemporaryFolder folder;
  const fs::path file = folder / "data";
  write_bytes(file, "0123456789");
  const DiskFile input(file);
  EXPECT_EQ(input.size(), 10U);
  std::array<std::uint8_t, 4> out{};
  input.read(3, out);
  EXPECT_EQ(std::string(out.begin(), out.end()), "3456");
  EXPECT_EQ(input_error(file, [&] { input.read(8, out); }),
            "the file became shorter while it was read; run again when nothing writes to it");
}

TEST(InputFile, NamesAnErrorOfTheSystemAsSuch) {
  // Reading this file of the kernel at address 0 gives EIO, and the file is not called damaged.
  const fs::path file = "/proc/self/mem";
  const DiskFile input(file);
  std::array<std::uint8_t, 4> out{};
  EXPECT_EQ(input_error(file, [&] { input.read(0, out); }), "the file cannot be read: Input/output error");
}

TEST(InputFile, TellsAChangedFile) {
  const TemporaryFolder folder;
  const fs::path file = folder / "data";
  write_bytes(file, "0123456789");
  const DiskFile input(file);
  input.require_unchanged();
  const FileIdentity before = input.identity();
  EXPECT_EQ(DiskFile(file).identity(), before);
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1));
  EXPECT_EQ(input_error(file, [&] { input.require_unchanged(); }), "the file changed while it was read" + run_again);
  EXPECT_EQ(input_error(file, [&] { DiskFile(file).require_same(before); }),
            "the file was replaced or changed after the run began" + run_again);
}

TEST(InputFile, TellsAReplacedFileOfTheSameSizeAndTime) {
  const TemporaryFolder folder;
  const fs::path file = folder / "data";
  write_bytes(file, "0123456789");
  const FileIdentity before = DiskFile(file).identity();
  write_bytes(folder / "other", "9876543210");
  fs::last_write_time(folder / "other", fs::last_write_time(file));
  fs::rename(folder / "other", file);
  EXPECT_EQ(input_error(file, [&] { DiskFile(file).require_same(before); }),
            "the file was replaced or changed after the run began" + run_again);
}

TEST(InputFile, ThatChangesWhileAHeadIsReadIsAnError) {
  const TemporaryFolder folder;
  const fs::path file = folder / "data.parquet";
  write_bytes(file, zero_vectors(6, 3).bytes());
  ParquetFile source(file, 3);
  const ParquetFile::Column bucket = source.require("bucket", ColumnKind::integer);
  source.prepare({bucket}, true);
  source.read_numbers(0, bucket, [](const NumberBatch&) { return true; });
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1));
  EXPECT_EQ(input_error(file, [&] { source.finish(); }), "the file changed while it was read" + run_again);
}

TEST(FileDigest, IsXxh3Of128Bits) {
  // As the Python package xxhash computes them.
  EXPECT_EQ(digest(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(digest("a"), "a96faf705af16834e6c632b61e964e1f");
}

TEST(FileDigest, OfAHeadIsThatOfItsWholeFile) {
  const TemporaryFolder folder;
  const fs::path file = folder / "data.parquet";
  CraftedFile several = zero_vectors(6, 3);
  several.groups = 3;
  write_bytes(file, several.bytes());
  for (const Side side : {Side::query, Side::key}) {
    const InputDigest input = read_head_file(file, side).input;
    EXPECT_EQ(input.file_bytes, several.bytes().size());
    EXPECT_EQ(input.digest, digest(several.bytes()));
  }
  // Columns that are not read count too, and so do bytes between columns.
  OddColumn text{"token_str", array_of(arrow::utf8(), R"(["a","b","c","d"])")};
  std::vector<OddColumn> columns = four_rows_with(text);
  std::swap(columns.front(), columns.back());
  write_parquet(file, columns);
  EXPECT_EQ(read_head_file(file, Side::key).input.digest, digest(read_bytes(file)));
}

TEST(FileDigest, OfRowGroupsInAnotherOrderIsTheSame) {
  const TemporaryFolder folder;
  const fs::path file = folder / "data.parquet";
  CraftedFile reversed = zero_vectors(6, 3);
  reversed.groups = 3;
  reversed.lists_groups_backwards = true;
  write_bytes(file, reversed.bytes());
  const HeadFile head = read_head_file(file, Side::query);
  EXPECT_EQ(head.rows.size(), 18U);
  EXPECT_EQ(head.input.digest, digest(reversed.bytes()));
}

}  // namespace
}  // namespace attention_plasticity
