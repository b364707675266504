#include "attention_plasticity/dump/text_column.h"

#include <arrow/api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attention_plasticity/dump/odd_parquet_testing.h"

namespace attention_plasticity {
namespace {

using Texts = std::vector<std::optional<std::string>>;

Texts texts_of(const std::filesystem::path& file, const std::string& name = "text", std::size_t most = 1000) {
  Texts texts;
  read_text_column(file, name, [&](std::optional<std::string_view> text) {
    texts.push_back(text ? std::optional<std::string>(*text) : std::nullopt);
    return texts.size() < most;
  });
  return texts;
}

OddColumn numbers() { return {"id", array_of(arrow::int64(), "[1,2,3,4,5]")}; }

OddColumn words(const std::shared_ptr<arrow::DataType>& type = arrow::utf8()) {
  return {"text", array_of(type, R"(["one","","drei\nvier",null,"été"])")};
}

TEST(TextColumn, ReadsTextsOfEveryTypeEncodingAndCodec) {
  const TemporaryFolder folder;
  const Texts expected{"one", "", "drei\nvier", std::nullopt, "été"};
  for (const auto& type : {arrow::utf8(), arrow::large_utf8()}) {
    for (const std::string codec : {"uncompressed", "snappy", "zstd"}) {
      for (const bool dictionary : {true, false}) {
        OddFormat format;
        format.codec = codec;
        format.dictionary = dictionary;
        format.page_v2 = dictionary;
        format.rows_per_group = 2;
        write_parquet(folder / "a.parquet", {numbers(), words(type)}, format);
        EXPECT_EQ(texts_of(folder / "a.parquet"), expected) << type->ToString() << codec << dictionary;
      }
    }
  }
}

TEST(TextColumn, ReadsDictionariesAsTexts) {
  const TemporaryFolder folder;
  const auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
  write_parquet(folder / "a.parquet", {{"text", array_of(type, R"(["one","two"])")}});
  EXPECT_EQ(texts_of(folder / "a.parquet"), (Texts{"one", "two"}));
}

TEST(TextColumn, ReadsTextsOfAnyLength) {
  const TemporaryFolder folder;
  const std::string text(3'000'000, 'x');
  write_parquet(folder / "a.parquet", {{"text", array_of(arrow::utf8(), "[\"" + text + "\",\"y\"]")}});
  EXPECT_EQ(texts_of(folder / "a.parquet"), (Texts{text, "y"}));
}

TEST(TextColumn, StopsWhenTheSinkHasEnough) {
  const TemporaryFolder folder;
  OddFormat format;
  format.rows_per_group = 2;
  write_parquet(folder / "a.parquet", {words()}, format);
  EXPECT_EQ(texts_of(folder / "a.parquet", "text", 1), (Texts{"one"}));
  EXPECT_EQ(texts_of(folder / "a.parquet", "text", 3).size(), 3U);
}

TEST(TextColumn, RefusesColumnsThatAreMissingOrHoldNoText) {
  const TemporaryFolder folder;
  const auto file = folder / "a.parquet";
  const auto refusal_of = [&](const std::string& name) { return input_error(file, [&] { texts_of(file, name); }); };
  write_parquet(file, {numbers(), words()});
  EXPECT_EQ(refusal_of("body"), "there is no column body, only id, text; pass `text_field`");
  EXPECT_EQ(refusal_of("id"), "column 'id' holds INT64; text is needed");
  write_parquet(file, {{"text", array_of(arrow::binary(), R"(["one"])")}});
  EXPECT_EQ(refusal_of("text"), "column 'text' holds BYTE_ARRAY; text is needed");
}

TEST(TextColumn, SpeaksOfNoHeadWhereAFileIsDamaged) {
  const TemporaryFolder folder;
  const auto file = folder / "a.parquet";
  const auto refusal = [&] { return input_error(file, [&] { texts_of(file); }); };
  write_parquet(file, {words()});
  const std::string whole = read_bytes(file);
  write_bytes(file, whole.substr(0, whole.size() / 2));
  EXPECT_EQ(refusal(),
            fmt::format("the Parquet file is truncated: it ends after {} bytes without its footer", whole.size() / 2));
  write_bytes(file, "");
  EXPECT_EQ(refusal(), "the file is empty");
  write_bytes(file, "PAR2");
  EXPECT_EQ(refusal(), "this is not a Parquet file");
}

}  // namespace
}  // namespace attention_plasticity
