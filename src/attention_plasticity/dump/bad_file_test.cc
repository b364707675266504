// Files that say more than they hold: each is refused before it can take memory or overflow a stack.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>

#include "attention_plasticity/dump/crafted_parquet_testing.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/dump/odd_parquet_testing.h"
#include "attention_plasticity/error.h"
#include "places.h"

namespace attention_plasticity {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// The largest resident memory of this process so far, in bytes.
std::size_t peak_memory() {
#ifdef __SANITIZE_ADDRESS__
  return 0;  // the sanitizer keeps what was freed
#else
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
#endif
}

/// The message when it is read. Reading a bad file takes next to no memory.
std::string refusal(const CraftedFile& crafted, const ReadOptions& options = {}) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "data.parquet";
  write_bytes(file, crafted.bytes());
  const std::size_t before = peak_memory();
  std::string message = input_error(file, [&] { read_head_file(file, Side::query, options); });
  EXPECT_LT(peak_memory(), before + 48 * mebibyte) << message;
  return message;
}

const std::string of_damage = ": the file is damaged; download or capture this head again";
const std::string damaged = ")" + of_damage;

CraftedFile sound() { return zero_vectors(8, 4); }
CraftedColumn& vectors_of(CraftedFile& file) { return file.columns.back(); }
CraftedPage& page_of_vectors(CraftedFile& file) { return vectors_of(file).pages.back(); }

TEST(BadFile, CraftedFilesAreSoundWithoutALie) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "data.parquet";
  CraftedFile several = sound();
  several.groups = 3;
  for (const CraftedFile& crafted : {sound(), runs_of_zeros(8, 4), several}) {
    write_bytes(file, crafted.bytes());
    const HeadRows rows = read_head_file(file, Side::query).rows;
    EXPECT_EQ(rows.width, 4U);
    EXPECT_EQ(rows.size(), 8U * static_cast<std::size_t>(crafted.groups));
    EXPECT_EQ(rows.vectors, LargeVector<float>(rows.size() * 4, 0.0F));
    EXPECT_EQ(rows.bucket[7], 1);
    EXPECT_EQ(rows.position[7], 7);
  }
  CraftedFile nested = sound();
  nested.nested_groups = 15;
  write_bytes(file, nested.bytes());
  // Its row group lacks the nested column.
  EXPECT_EQ(input_error(file, [&] { read_head_file(file, Side::query); }),
            "column 'bucket' cannot be read (row group 0 has 4 columns, and the schema 5" + damaged);
}

TEST(BadFile, NestedGroupsAreCountedBeforeArrowDescends) {
  CraftedFile nested = sound();
  nested.nested_groups = 1000;  // as deep as Arrow gets to see
  EXPECT_EQ(refusal(nested), "column 'bucket' cannot be read (row group 0 has 4 columns, and the schema 5" + damaged);
  nested.nested_groups = 50000;
  EXPECT_EQ(refusal(nested),
            "the footer has 50008 columns and groups of columns, and at most 1024 are read; write the file again with "
            "the columns of a head only");
  CraftedFile flat = sound();
  flat.flat_groups = 2000;
  EXPECT_EQ(
      refusal(flat),
      "the footer has 2007 columns and groups of columns, and at most 1024 are read; write the file again with the "
      "columns of a head only");
}

TEST(BadFile, ListsOfTheFooterAreCounted) {
  CraftedFile many = sound();
  many.groups = 12000;  // of 4 columns
  EXPECT_NE(refusal(many).find("bytes of memory, and at most 67108864 are used for it"), std::string::npos);
  // Field 5 is a list of pairs, of which each takes one byte here.
  CraftedFile pairs = sound();
  pairs.further_fields = ThriftText().list(1, 12, 700000, std::string(700000, '\0')).done();
  pairs.further_fields.pop_back();
  EXPECT_NE(refusal(pairs).find("bytes of memory, and at most 67108864 are used for it"), std::string::npos);
}

TEST(BadFile, AFooterLargerThanTheFileOrTheLimitIsRefused) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "data.parquet";
  std::string bytes = sound().bytes();
  const std::string size = std::to_string(bytes.size());
  bytes[bytes.size() - 5] = '\x7F';
  write_bytes(file, bytes);
  EXPECT_NE(input_error(file, [&] { read_head_footer(file); }).find("bytes in a file of " + size), std::string::npos);
  CraftedFile large = sound();
  large.further_fields = "\x28" + ThriftText::text_element(std::string(17 * mebibyte, 'x'));
  EXPECT_NE(refusal(large).find("bytes, and at most 16777216 are read"), std::string::npos);
}

TEST(BadFile, VectorsWiderThanAllowedAreRefusedByTheFooter) {
  EXPECT_EQ(refusal(runs_of_zeros(4, std::int64_t{1} << 30)),
            "the vectors have 1073741824 components, and at most 65536 are read; raise `max_vector_width` if the "
            "model's heads are that wide");
  EXPECT_EQ(refusal(sound(), {.max_vector_width = 3}),
            "the vectors have 4 components, and at most 3 are read; raise `max_vector_width` if the model's heads are "
            "that wide");
  EXPECT_EQ(refusal(sound(), {.max_vector_width = 4}), "no error");
}

TEST(BadFile, RunsThatHoldMoreThanTheFooterSaysAreRefused) {
  CraftedFile lying = runs_of_zeros(4, std::int64_t{1} << 30);
  vectors_of(lying).entries = 4 * 64;
  EXPECT_EQ(
      refusal(lying),
      "column 'vector' cannot be read (a page holds 1073741824 entries, and 256 are left of those that the footer "
      "says" +
          damaged);
}

TEST(BadFile, FewBytesHoldFewRowsAndComponents) {
  CraftedFile file = runs_of_zeros(1000, 65536);
  EXPECT_EQ(refusal(file).find("column 'vector' cannot be read (it says 65536000 components in a file of "), 0U);
  CraftedFile rows = sound();
  rows.rows = std::int64_t{1} << 40;
  EXPECT_EQ(refusal(rows).find("the footer cannot be read (it says 1099511627776 rows in a file of "), 0U);
}

TEST(BadFile, APageLargerThanItsEntriesIsNotDecompressed) {
  CraftedFile bomb = compressed_zeros(std::int64_t{1} << 28);
  EXPECT_EQ(refusal(bomb).find("the vectors have 268435456 components"), 0U);
  vectors_of(bomb).entries = 64;
  page_of_vectors(bomb).entries = 64;
  EXPECT_EQ(refusal(bomb),
            "column 'vector' takes 1073741888 bytes in memory, and by the footer at most 1082615" + of_damage);
  // A page that says less than it unfolds to.
  page_of_vectors(bomb).uncompressed = 300;
  EXPECT_NE(refusal(bomb).find("column 'vector' cannot be read ("), std::string::npos);
}

TEST(BadFile, ADictionaryIsAsLargeAsItsValues) {
  CraftedFile file = runs_of_zeros(4, 4);
  CraftedPage& dictionary = vectors_of(file).pages.front();
  dictionary.entries = 1 << 30;
  EXPECT_EQ(refusal(file),
            "column 'vector' takes 4294967296 bytes in memory, and by the footer at most 1048580" + of_damage);
  dictionary.entries = -1;
  EXPECT_EQ(refusal(file), "column 'vector' cannot be read (Invalid page header (negative number of values)" + damaged);
  dictionary.entries = 5 << 20;
  dictionary.body = std::string(20 * mebibyte, '\0');
  EXPECT_EQ(refusal(file),
            "column 'vector' takes 20971520 bytes in memory, and by the footer at most 17825792" + of_damage);
}

TEST(BadFile, ContradictionsOfTheFooterAreErrors) {
  CraftedFile file = sound();
  file.rows_of_file = 9;
  EXPECT_EQ(refusal(file), "the footer cannot be read (it says 9 rows, and its row groups have 8" + damaged);
  file = sound();
  file.columns[1].entries = 7;
  EXPECT_EQ(
      refusal(file),
      "column 'example_id' cannot be read (row group 0 has 7 entries of it, and the footer says 8 rows" + damaged);
  file = sound();
  vectors_of(file).entries = 7;
  EXPECT_EQ(refusal(file),
            "column 'vector' cannot be read (row group 0 has 7 entries of it, and the footer says 8 rows" + damaged);
  file = sound();
  vectors_of(file).entries = 40;
  EXPECT_EQ(refusal(file),
            "column 'vector' cannot be read (its pages hold 32 entries, and the footer says 40" + damaged);
  file = sound();
  file.columns[0].type = 4;
  EXPECT_EQ(refusal(file),
            "column 'bucket' cannot be read (row group 0 holds FLOAT, and the schema says INT32" + damaged);
  file = sound();
  vectors_of(file).total_compressed = 10000;
  EXPECT_EQ(refusal(file).find("column 'vector' cannot be read (the footer says that it has 10000 bytes from byte "),
            0U);
  file = sound();
  file.columns[0].moved = -2;
  EXPECT_EQ(refusal(file).find("column 'bucket' cannot be read (the footer says that it has "), 0U);
}

TEST(BadFile, AWrongLetterInAColumnsNameIsFound) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "data.parquet";
  std::string bytes = sound().bytes();
  bytes[bytes.find("example_id", bytes.find("schema"))] = 'E';
  write_bytes(file, bytes);
  EXPECT_EQ(
      input_error(file, [&] { read_head_file(file, Side::query); }),
      "the footer cannot be read (its schema has column 'Example_id', and its row groups have 'example_id' there" +
          damaged);
}

TEST(BadFile, AFooterThatEndsEarlyIsFound) {
  CraftedFile file = sound();
  file.further_fields = std::string(3, '\0');  // the end of the struct
  const std::string message = refusal(file);
  EXPECT_EQ(message.find("the footer cannot be read (it ends after "), 0U) << message;
}

TEST(BadFile, ContradictionsOfAPageAreErrors) {
  CraftedFile file = sound();
  const std::size_t size = page_of_vectors(file).body.size();
  page_of_vectors(file).compressed = 100000;
  page_of_vectors(file).uncompressed = 100000;
  EXPECT_EQ(refusal(file), "column 'vector' cannot be read (Unexpected end of stream: Page was smaller (" +
                               std::to_string(size) + ") than expected (100000)" + damaged);
}

bool same_rows(const HeadRows& a, const HeadRows& b) {
  return a.width == b.width && a.bucket == b.bucket && a.example == b.example && a.position == b.position &&
         a.vectors == b.vectors && a.window == b.window;
}

/// Reads mutants of a sound file: whatever their bytes, there are rows or an Error with the file. With checksums, the
/// rows are those of the sound file.
void read_mutants(const std::string& bytes, unsigned seed, int count, bool has_checksums = false) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "data.parquet";
  std::mt19937_64 random(seed);  // the same mutants every time; NOLINT(bugprone-random-generator-seed)
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  write_bytes(file, bytes);
  const HeadRows sound_rows = read_head_file(file, Side::query).rows;
  const std::size_t before = peak_memory();
  for (int mutant = 0; mutant < count; ++mutant) {
    std::string changed = bytes;
    for (std::size_t i = 0, changes = 1 + below(4); i < changes; ++i) {
      // Half of the changes hit the footer, which is short.
      const std::size_t from = mutant % 2 == 0 ? 0 : changed.size() - std::min<std::size_t>(changed.size(), 1500);
      const std::size_t place = from + below(changed.size() - from);
      switch (below(4)) {
        case 0:
          changed[place] = static_cast<char>(below(256));
          break;
        case 1:
          changed[place] = below(2) == 0 ? '\xFF' : '\0';
          break;
        case 2:
          changed.insert(place, below(2) == 0 ? "\xFF\xFF\xFF\x7F" : "\x80");
          break;
        default:
          changed.erase(place, 1 + below(8));
      }
    }
    write_bytes(file, changed);
    for (const Side side : {Side::query, Side::key}) {
      try {
        const HeadRows rows = read_head_file(file, side).rows;
        ASSERT_EQ(rows.vectors.size(), rows.size() * rows.width);
        ASSERT_TRUE(!has_checksums || side == Side::key || same_rows(rows, sound_rows)) << "mutant " << mutant;
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::input);
        ASSERT_EQ(error.file(), file.string());
      }
    }
  }
  EXPECT_LT(peak_memory(), before + 96 * mebibyte);
}

TEST(BadFile, MutantsOfARealHeadGiveRowsOrAnError) {
  read_mutants(read_bytes(source_folder() / "examples/smollm2-135m/l01h00q/data.parquet"), 1, 400, true);
}

TEST(BadFile, MutantsOfBombsGiveRowsOrAnError) {
  read_mutants(runs_of_zeros(64, 64).bytes(), 2, 400);
  CraftedFile several = zero_vectors(4, 2);
  several.groups = 5;
  read_mutants(several.bytes(), 3, 400);
}

}  // namespace
}  // namespace attention_plasticity
