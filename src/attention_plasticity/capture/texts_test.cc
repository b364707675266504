#include "attention_plasticity/capture/texts.h"

#include <arrow/type.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "attention_plasticity/base/refusal_testing.h"
#include "attention_plasticity/base/temporary_folder_testing.h"
#include "attention_plasticity/capture/sample_texts.h"
#include "attention_plasticity/dump/odd_parquet_testing.h"
#include "places.h"

namespace attention_plasticity {
namespace {

using Words = std::vector<std::string>;

Words texts_of(const std::filesystem::path& source, const TextOptions& options = {}) {
  Words words;
  for (const Text& text : read_texts(source.string(), options)) words.push_back(text.text);
  return words;
}

Words places_of(const std::filesystem::path& source) {
  Words places;
  for (const Text& text : read_texts(source.string())) places.push_back(text.place);
  return places;
}

/// The message for a source, with the folder's name left out.
std::string refused(const TemporaryFolder& folder, const std::filesystem::path& source,
                    const TextOptions& options = {}) {
  std::string message = refusal([&] { read_texts(source.string(), options); });
  const std::string prefix = folder.path().string();
  if (const std::size_t at = message.find(prefix); at != std::string::npos) message.erase(at, prefix.size());
  return message;
}

TEST(Texts, FilesOfEveryKindHoldTheSameTexts) {
  const TemporaryFolder folder;
  const Words words{"first document", "second\ndocument", "third"};
  std::filesystem::create_directories(folder / "folder/b");
  write_bytes(folder / "folder/a.txt", words[0]);
  write_bytes(folder / "folder/b/c.TXT", words[1]);
  write_bytes(folder / "folder/d.txt", words[2]);
  write_bytes(folder / "folder/notes.md", "no text");
  write_bytes(folder / "lines.jsonl",
              "{\"text\": \"first document\", \"id\": 1}\n\n{\"id\": 2, \"text\": \"second\\ndocument\"}\r\n \n"
              "{\"text\": \"third\"}");
  write_parquet(folder / "table.parquet",
                {{"id", array_of(arrow::int64(), "[1,2,3]")},
                 {"text", array_of(arrow::utf8(), R"(["first document","second\ndocument","third"])")}},
                {.rows_per_group = 1});
  for (const auto* source : {"folder", "lines.jsonl", "table.parquet"}) {
    EXPECT_EQ(texts_of(folder / source), words) << source;
    EXPECT_EQ(texts_of(folder / source, {.max_documents = 2}), (Words{words[0], words[1]})) << source;
  }
  EXPECT_EQ(texts_of(folder / "folder/d.txt"), Words{"third"});
}

TEST(Texts, EachSaysWhereItStands) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.jsonl", "\n{\"text\": \"x\"}\n");
  write_bytes(folder / "b.txt", "y");
  write_parquet(folder / "c.parquet", {{"text", array_of(arrow::utf8(), R"(["v","w"])")}});
  const std::string at = folder.path().string();
  EXPECT_EQ(places_of(folder.path()),
            (Words{at + "/a.jsonl:2", at + "/b.txt", at + "/c.parquet row 0", at + "/c.parquet row 1"}));
}

// As Python's open() reads text.
TEST(Texts, LineEndsOfEverySystemAreOne) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.txt", "a\r\nb\rc\n\r\n\r");
  EXPECT_EQ(texts_of(folder / "a.txt"), Words{"a\nb\nc\n\n\n"});
}

TEST(Texts, AreReadInTheOrderOfTheirNames) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "a");
  for (const auto* name : {"a/z.txt", "a.txt", "B.txt", "a-b.txt"}) write_bytes(folder / name, name);
  // A folder's name is compared by itself, as Python compares paths.
  EXPECT_EQ(texts_of(folder.path()), (Words{"B.txt", "a/z.txt", "a-b.txt", "a.txt"}));
}

TEST(Texts, NothingIsReadAfterTheLastThatIsAskedFor) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.jsonl", "{\"text\": \"x\"}\nno JSON\n");
  write_bytes(folder / "b.txt", "\xff");
  EXPECT_EQ(texts_of(folder.path(), {.max_documents = 1}), Words{"x"});
  EXPECT_NE(refused(folder, folder.path(), {.max_documents = 2}), "nothing");
  write_bytes(folder / "late.jsonl", "{\"text\": \"x\"}\n{\"text\": \"y\"}\n{\"text\": \"\xff\"}\n");
  EXPECT_EQ(texts_of(folder / "late.jsonl", {.max_documents = 2}), (Words{"x", "y"}));
  EXPECT_EQ(refused(folder, folder / "late.jsonl"), "input: /late.jsonl:3: this is no UTF-8 text (byte 10)");
}

// Pieces of a file end anywhere, also between \r and \n.
TEST(Texts, LinesOfAnyLengthAndEndAreRead) {
  const TemporaryFolder folder;
  Words words;
  std::string lines;
  for (std::size_t i = 0; i < 300; ++i) {
    words.push_back(std::to_string(i) + std::string(i * 7, 'x'));
    lines += "{\"text\": \"" + words.back() + "\"}" + (i % 3 == 0 ? "\r\n" : i % 3 == 1 ? "\r" : "\n");
  }
  for (std::size_t before = 0; before < 40; ++before) {
    write_bytes(folder / "a.jsonl", std::string(before, ' ') + lines);
    EXPECT_EQ(texts_of(folder / "a.jsonl"), words);
  }
  EXPECT_EQ(places_of(folder / "a.jsonl").back(), (folder / "a.jsonl").string() + ":300");
}

// A Parquet file of 515 bytes with 20,000 rows of one text of 1 MB took 6.9 GB.
TEST(Texts, TakeABoundedMemory) {
  const TemporaryFolder folder;
  std::string rows;
  const std::string text(1000, 'x');
  for (int i = 0; i < 100; ++i) {
    rows += i == 0 ? "[\"" : ",\"";
    rows += text;
    rows += '"';
  }
  write_parquet(folder / "a.parquet", {{"text", array_of(arrow::utf8(), rows + "]")}}, {.rows_per_group = 100});
  EXPECT_LT(std::filesystem::file_size(folder / "a.parquet"), 10'000U);
  EXPECT_EQ(texts_of(folder / "a.parquet").size(), 100U);
  const std::string told = refused(folder, folder / "a.parquet", {.most_bytes = 50'000});
  EXPECT_TRUE(told.starts_with("input: /a.parquet row ")) << told;
  EXPECT_NE(told.find(": with this text, the texts take more than 48.8 KiB of memory; pass `max_documents`, "),
            std::string::npos)
      << told;
  EXPECT_EQ(texts_of(folder / "a.parquet", {.max_documents = 10, .most_bytes = 50'000}).size(), 10U);
}

TEST(Texts, AreNotEndless) {
  const TemporaryFolder folder;
  const std::string longest(100, 'x');
  const TextOptions options{.most_text_bytes = 112};
  write_parquet(folder / "a.parquet", {{"text", array_of(arrow::utf8(), "[\"" + longest + longest + "\"]")}});
  write_bytes(folder / "a.txt", longest + longest);
  write_bytes(folder / "a.jsonl", "{\"text\": \"" + longest + "\"}\n{\"text\": \"" + longest + "x\"}\n");
  const std::string problem = ": this is longer than 0.1 KiB, too long for one text; split it";
  EXPECT_EQ(refused(folder, folder / "a.parquet", options), "input: /a.parquet row 0" + problem);
  EXPECT_EQ(refused(folder, folder / "a.txt", options), "input: /a.txt" + problem);
  EXPECT_EQ(refused(folder, folder / "a.jsonl", options), "input: /a.jsonl:2" + problem);
}

TEST(Texts, TheFieldHasAName) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.jsonl", "{\"body\": \"x\", \"id\": 1}\n");
  write_parquet(folder / "a.parquet", {{"body", array_of(arrow::utf8(), R"(["x"])")}});
  EXPECT_EQ(texts_of(folder / "a.jsonl", {.field = "body"}), Words{"x"});
  EXPECT_EQ(texts_of(folder / "a.parquet", {.field = "body"}), Words{"x"});
  EXPECT_EQ(refused(folder, folder / "a.jsonl"),
            "input: /a.jsonl:1: there is no field text, only body, id; pass `text_field`");
  EXPECT_EQ(refused(folder, folder / "a.parquet"),
            "input: /a.parquet: there is no column text, only body; pass `text_field`");
}

TEST(Texts, WhatIsWrongWithAFileIsSaid) {
  struct Case {
    std::string name, content, message;
  };
  const TemporaryFolder folder;
  for (const Case& wrong : {
           Case{"a.jsonl", "{\"text\": \"x\"}\n{\"text\": \n", "a.jsonl:2: this line is not valid JSON (at byte 10)"},
           Case{"a.jsonl", "[1]\n", "a.jsonl:1: this line is no JSON object"},
           Case{"a.jsonl", "{\"text\": 3}", "a.jsonl:1: the field text is a number, it should be text"},
           Case{"a.jsonl", "{\"text\": null}", "a.jsonl:1: the field text is null, it should be text"},
           Case{"a.jsonl", "{\"text\": [\"x\"]}", "a.jsonl:1: the field text is a list, it should be text"},
           Case{"a.jsonl", "{\"text\": {}}", "a.jsonl:1: the field text is an object, it should be text"},
           Case{"a.jsonl", "{\"text\": true}", "a.jsonl:1: the field text is true or false, it should be text"},
           Case{"a.jsonl", "{\"text\": \" \"}", "a.jsonl:1: the text is empty; leave it out"},
           Case{"a.jsonl", "", "a.jsonl: there are no texts"},
           Case{"a.jsonl", "\n \n", "a.jsonl: there are no texts"},
           Case{"a.txt", "\n\u00a0\u2003\t\u2028", "a.txt: the text is empty; leave it out"},
           Case{"a.txt", "", "a.txt: the text is empty; leave it out"},
           Case{"a.txt", "abc\xff", "a.txt: this is no UTF-8 text (byte 3)"},
           Case{"a.parquet", "PAR2", "a.parquet: this is not a Parquet file"},
           Case{"a.csv", "text\nx\n", "a.csv: texts are .txt, .jsonl, .parquet files"},
           Case{"a", "x", "a: texts are .txt, .jsonl, .parquet files"},
       }) {
    write_bytes(folder / wrong.name, wrong.content);
    EXPECT_EQ(refused(folder, folder / wrong.name), "input: /" + wrong.message) << wrong.content;
  }
}

TEST(Texts, RowsOfParquetMustBeTexts) {
  const TemporaryFolder folder;
  write_parquet(folder / "a.parquet", {{"text", array_of(arrow::utf8(), R"(["x",null])")}});
  EXPECT_EQ(refused(folder, folder / "a.parquet"),
            "input: /a.parquet row 1: the field text is null, it should be text");
  write_parquet(folder / "a.parquet", {{"text", array_of(arrow::utf8(), R"(["x",""])")}});
  EXPECT_EQ(refused(folder, folder / "a.parquet"), "input: /a.parquet row 1: the text is empty; leave it out");
  write_parquet(folder / "a.parquet", {{"text", array_of(arrow::int64(), "[1]")}});
  EXPECT_EQ(refused(folder, folder / "a.parquet"), "input: /a.parquet: column 'text' holds INT64; text is needed");
}

TEST(Texts, WhatIsMissingIsSaid) {
  const TemporaryFolder folder;
  EXPECT_EQ(refused(folder, folder / "none.txt"), "input: /none.txt: there is no such file or folder");
  EXPECT_EQ(refused(folder, folder.path()), "input: : this folder has no texts (.txt, .jsonl, .parquet)");
  EXPECT_EQ(refused(folder, "org/name"),
            "input: org/name: there is no such file or folder; a dataset of the Hub must be downloaded first");
  EXPECT_EQ(refused(folder, "./name"), "input: ./name: there is no such file or folder");
  EXPECT_EQ(refused(folder, "a/b/c"), "input: a/b/c: there is no such file or folder");
}

TEST(Texts, TheSampleIsLongEnoughForAFirstTry) {
  const std::vector<Text> texts = read_texts("sample");
  EXPECT_GT(texts.size(), 10U);
  std::size_t words = 0;
  for (const Text& text : texts) words += static_cast<std::size_t>(std::ranges::count(text.text, ' '));
  EXPECT_GT(words, 20'000U);
  EXPECT_EQ(texts.front().place, "sample CONTRIBUTING.md");
  EXPECT_EQ(texts.size(), sample_texts().size());
}

TEST(Texts, TheSampleIsOurPages) {
  const std::filesystem::path source = source_folder();
  for (const SampleText& page : sample_texts()) {
    const std::filesystem::path name = page.name;
    const bool at_top = name == "README.md" || name == "CONTRIBUTING.md";
    EXPECT_EQ(page.text, read_bytes(at_top ? source / name : source / "docs" / name)) << name;
  }
}

}  // namespace
}  // namespace attention_plasticity
