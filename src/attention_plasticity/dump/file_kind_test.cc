// Files in the place of a Parquet file.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/odd_parquet_testing.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

std::string refusal(const fs::path& file) {
  return input_error(file, [&] { read_head_footer(file); });
}

std::string refusal_of_bytes(const std::string& bytes) {
  const TemporaryFolder folder;
  write_bytes(folder / "data.parquet", bytes);
  return refusal(folder / "data.parquet");
}

TEST(FileKind, TellsAMissingFileFromABrokenLink) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal(folder / "none"), "the file does not exist; download or capture this head again");
  fs::create_symlink("nowhere", folder / "link");
  EXPECT_EQ(refusal(folder / "link"), "the file is a broken link; download or capture this head again");
}

TEST(FileKind, RefusesFoldersAndPipes) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal(folder.path()), "this is a folder, a Parquet file is needed; capture this head again");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(folder / "pipe"), "this is not a regular file, a Parquet file is needed");
}

TEST(FileKind, SaysWhenPermissionIsMissing) {
  const TemporaryFolder folder;
  const fs::path file = folder / "data.parquet";
  write_bytes(file, "PAR1 anything PAR1");
  fs::permissions(file, fs::perms::none);
  const fs::path closed = folder / "closed";
  fs::create_directory(closed);
  write_bytes(closed / "data.parquet", "PAR1 anything PAR1");
  fs::permissions(closed, fs::perms::none);
  fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  // The superuser may read everything, so the test steps down for the moment.
  constexpr uid_t nobody = 65534;
  const bool superuser = geteuid() == 0;
  ASSERT_TRUE(!superuser || seteuid(nobody) == 0) << "cannot step down from the superuser";
  const std::string message = refusal(file);
  const std::string message_of_folder = refusal(closed / "data.parquet");
  if (superuser) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions(closed, fs::perms::owner_all);
  EXPECT_EQ(message, "no permission to read the file; change its permissions or those of its folder");
  EXPECT_EQ(message_of_folder, message);
}

TEST(FileKind, KnowsEmptyFiles) {
  EXPECT_EQ(refusal_of_bytes(""), "the file is empty; download or capture this head again");
}

TEST(FileKind, KnowsGitLfsPointers) {
  EXPECT_EQ(refusal_of_bytes("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"),
            "this is a Git LFS pointer, not the data it stands for; run `git lfs pull` in the dump's folder");
}

TEST(FileKind, KnowsHtmlPages) {
  for (const char* page : {"<!DOCTYPE html>\n<html>", "\n <HTML lang=en>", "\xEF\xBB\xBF<!doctype HTML>", "<html>",
                           "<?xml version=\"1.0\"?>\n<html>", "<!-- error --><html>"}) {
    EXPECT_EQ(refusal_of_bytes(page),
              "this is an HTML page, not a Parquet file: the download went wrong; download this head again")
        << page;
  }
}

TEST(FileKind, KnowsCompressedFiles) {
  const auto expected = [](const std::string& name, const std::string& program) {
    return "this is a file compressed by " + name + ", not a Parquet file; decompress it with " + program +
           ", and name what comes out data.parquet";
  };
  EXPECT_EQ(refusal_of_bytes("\x1f\x8b\x08 anything"), expected("gzip", "gunzip"));
  EXPECT_EQ(refusal_of_bytes("\x28\xb5\x2f\xfd anything"), expected("zstd", "unzstd"));
  EXPECT_EQ(refusal_of_bytes("PK\x03\x04 anything"), expected("zip", "unzip"));
  EXPECT_EQ(refusal_of_bytes("BZh9 anything"), expected("bzip2", "bunzip2"));
  EXPECT_EQ(refusal_of_bytes(std::string("\xfd\x37zXZ\0 anything", 15)), expected("xz", "unxz"));
}

TEST(FileKind, KnowsEncryptedFiles) {
  EXPECT_EQ(refusal_of_bytes("PARE anything PARE"),
            "this Parquet file is encrypted; write the dump without encryption");
}

TEST(FileKind, SaysWhereAFileWasCut) {
  for (const std::string bytes : {"P", "PAR", "PAR1", "PAR1PAR1", "PAR1 anything PAR", "PAR1 anything at all"}) {
    EXPECT_EQ(refusal_of_bytes(bytes), "the Parquet file is truncated: it ends after " + std::to_string(bytes.size()) +
                                           " bytes without its footer; download or capture this head again");
  }
}

TEST(FileKind, RefusesEverythingElse) {
  for (const char* bytes : {"{\"error\": 404}", "PAX1 anything PAR1", "x", "\n\n\n", "<svg>"}) {
    EXPECT_EQ(refusal_of_bytes(bytes), "this is not a Parquet file; download or capture this head again") << bytes;
  }
}

}  // namespace
}  // namespace attention_plasticity
