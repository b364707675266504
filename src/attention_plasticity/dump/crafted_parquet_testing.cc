#include "attention_plasticity/dump/crafted_parquet_testing.h"

#include <arrow/util/compression.h>
#include <parquet/exception.h>

#include <algorithm>
#include <limits>

namespace attention_plasticity {
namespace {

constexpr int i32_type = 5;
constexpr int text_type = 8;
constexpr int struct_type = 12;
constexpr int dictionary_indices = 8;

std::string little_endian(std::uint32_t value) {
  std::string bytes;
  for (unsigned i = 0; i < 4; ++i) bytes += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  return bytes;
}

/// A run of one level of 1 bit, as the hybrid of runs and packed bits has it.
std::string run(std::uint64_t count, char level) { return ThriftText::varint(2 * count) + level; }

std::string with_length(const std::string& runs) {
  return little_endian(static_cast<std::uint32_t>(runs.size())) + runs;
}

std::string group_element(const std::string& name, int children) {
  return ThriftText().i32(3, 0).text(4, name).i32(5, children).done();
}

std::string schema_elements(const CraftedFile& file) {
  const int groups = static_cast<int>(file.flat_groups) + (file.nested_groups > 0 ? 1 : 0);
  std::string all = ThriftText().text(4, "schema").i32(5, static_cast<int>(file.columns.size()) + groups).done();
  for (const CraftedColumn& column : file.columns) {
    if (column.is_vector) {
      all += ThriftText().i32(3, 0).text(4, column.name).i32(5, 1).i32(6, 3).done();  // required, LIST
      all += ThriftText().i32(3, 2).text(4, "list").i32(5, 1).done();                 // repeated
      all += ThriftText().i32(1, 4).i32(3, 0).text(4, "element").done();              // required float
    } else {
      all += ThriftText().i32(1, 1).i32(3, 0).text(4, column.name).done();  // required int32
    }
  }
  for (std::size_t i = 0; i < file.flat_groups; ++i) all += group_element("g", 0);
  for (std::size_t i = 0; i < file.nested_groups; ++i) all += group_element("n", 1);
  if (file.nested_groups > 0) all += ThriftText().i32(1, 1).i32(3, 0).text(4, "leaf").done();
  return all;
}

std::size_t schema_size(const CraftedFile& file) {
  std::size_t size = 1 + file.flat_groups + file.nested_groups + (file.nested_groups > 0 ? 1 : 0);
  for (const CraftedColumn& column : file.columns) size += column.is_vector ? 3 : 1;
  return size;
}

std::string column_bytes(const CraftedColumn& column) {
  std::string bytes;
  for (const CraftedPage& page : column.pages) bytes += page.bytes();
  return bytes;
}

std::string chunk(const CraftedColumn& column, std::uint64_t offset) {
  const std::string bytes = column_bytes(column);
  const bool has_dictionary = !column.pages.empty() && column.pages.front().is_dictionary;
  const auto begin = static_cast<std::int64_t>(offset) + column.moved;
  const auto data = begin + (has_dictionary ? static_cast<std::int64_t>(column.pages.front().bytes().size()) : 0);
  const std::vector<std::string> path = column.is_vector ? std::vector<std::string>{column.name, "list", "element"}
                                                         : std::vector<std::string>{column.name};
  std::string names;
  for (const std::string& name : path) names += ThriftText::text_element(name);
  ThriftText meta;
  meta.i32(1, column.type.value_or(column.is_vector ? 4 : 1))
      .list(2, i32_type, 1, ThriftText::zigzag(0))
      .list(3, text_type, path.size(), names)
      .i32(4, column.codec)
      .i64(5, column.entries)
      .i64(6, static_cast<std::int64_t>(bytes.size()))
      .i64(7, column.total_compressed.value_or(static_cast<std::int64_t>(bytes.size())))
      .i64(9, data);
  if (has_dictionary) meta.i64(11, begin);
  return ThriftText().i64(2, begin).structure(3, meta.done()).done();
}

/// Levels of rows of `width` entries without nulls, as a page of version 1 has them.
std::string levels(std::int64_t rows, std::int64_t width) {
  std::string repetition;
  for (std::int64_t row = 0; row < rows; ++row) {
    repetition += run(1, 0);
    if (width > 1) repetition += run(static_cast<std::uint64_t>(width) - 1, 1);
  }
  return with_length(repetition) + with_length(run(static_cast<std::uint64_t>(rows * width), 1));
}

CraftedColumn integers(const std::string& name, std::int64_t rows, std::int64_t divisor) {
  CraftedPage page;
  page.entries = rows;
  for (std::int64_t row = 0; row < rows; ++row) page.body += little_endian(static_cast<std::uint32_t>(row / divisor));
  CraftedColumn column;
  column.name = name;
  column.pages = {page};
  column.entries = rows;
  return column;
}

CraftedFile with_vectors(std::int64_t rows, CraftedColumn vectors) {
  vectors.name = "vector";
  vectors.is_vector = true;
  CraftedFile file;
  file.rows = rows;
  file.columns = {integers("bucket", rows, 4), integers("example_id", rows, rows + 1), integers("position", rows, 1),
                  std::move(vectors)};
  return file;
}

}  // namespace

std::string ThriftText::varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80U; value >>= 7U) bytes += static_cast<char>(static_cast<unsigned char>(value | 0x80U));
  return bytes + static_cast<char>(static_cast<unsigned char>(value));
}

std::string ThriftText::zigzag(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return varint((bits << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

ThriftText& ThriftText::raw(int field, int type, const std::string& bytes) {
  const int step = field - last_;
  last_ = field;
  if (step > 0 && step < 16) {
    bytes_ += static_cast<char>(static_cast<unsigned char>(16 * step + type));
  } else {
    bytes_ += static_cast<char>(type) + zigzag(field);
  }
  bytes_ += bytes;
  return *this;
}

ThriftText& ThriftText::boolean(int field, bool value) { return raw(field, value ? 1 : 2, ""); }
ThriftText& ThriftText::text(int field, const std::string& value) { return raw(field, text_type, text_element(value)); }
ThriftText& ThriftText::structure(int field, const std::string& content) { return raw(field, struct_type, content); }

ThriftText& ThriftText::list(int field, int type, std::size_t size, const std::string& elements) {
  const std::string header =
      size < 15 ? std::string(1, static_cast<char>(static_cast<unsigned char>(16 * size + static_cast<unsigned>(type))))
                : std::string(1, static_cast<char>(static_cast<unsigned char>(0xF0 + type))) + varint(size);
  return raw(field, 9, header + elements);
}

std::string CraftedPage::bytes() const {
  const auto size = static_cast<std::int64_t>(body.size());
  ThriftText header;
  header.i32(1, is_dictionary ? 2 : 0).i32(2, uncompressed.value_or(size)).i32(3, compressed.value_or(size));
  if (is_dictionary) {
    header.structure(7, ThriftText().i32(1, entries).i32(2, encoding).done());
  } else {
    header.structure(5, ThriftText().i32(1, entries).i32(2, encoding).i32(3, 3).i32(4, 3).done());
  }
  return header.done() + body;
}

std::string CraftedFile::footer(std::uint64_t begin) const {
  std::vector<std::string> texts;
  texts.reserve(static_cast<std::size_t>(groups));
  for (int group = 0; group < groups; ++group) {
    std::string chunks;
    for (const CraftedColumn& column : columns) {
      chunks += chunk(column, begin);
      begin += column_bytes(column).size();
    }
    texts.push_back(ThriftText().list(1, struct_type, columns.size(), chunks).i64(2, 1).i64(3, rows).done());
  }
  if (lists_groups_backwards) std::ranges::reverse(texts);
  std::string row_groups;
  for (const std::string& text : texts) row_groups += text;
  std::string footer = ThriftText()
                           .i32(1, 2)
                           .list(2, struct_type, schema_size(*this), schema_elements(*this))
                           .i64(3, rows_of_file.value_or(rows * groups))
                           .list(4, struct_type, static_cast<std::size_t>(groups), row_groups)
                           .done();
  footer.pop_back();
  return footer + further_fields + '\0';
}

std::string CraftedFile::bytes() const {
  std::string all = "PAR1";
  for (int group = 0; group < groups; ++group) {
    for (const CraftedColumn& column : columns) all += column_bytes(column);
  }
  const std::string end = footer();
  return all + end + little_endian(static_cast<std::uint32_t>(end.size())) + "PAR1";
}

CraftedFile zero_vectors(std::int64_t rows, std::int64_t width) {
  CraftedPage page;
  page.entries = rows * width;
  page.body = levels(rows, width) + std::string(static_cast<std::size_t>(4 * rows * width), '\0');
  CraftedColumn vectors;
  vectors.pages = {page};
  vectors.entries = page.entries;
  return with_vectors(rows, std::move(vectors));
}

CraftedFile runs_of_zeros(std::int64_t rows, std::int64_t width) {
  CraftedColumn vectors;
  vectors.entries = rows * width;
  CraftedPage dictionary;
  dictionary.is_dictionary = true;
  dictionary.entries = 1;
  dictionary.body = std::string(4, '\0');
  vectors.pages.push_back(dictionary);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::int64_t rows_in_page = std::max<std::int64_t>(1, most / width);
  for (std::int64_t row = 0; row < rows; row += rows_in_page) {
    const std::int64_t here = std::min(rows_in_page, rows - row);
    CraftedPage page;
    page.entries = here * width;
    page.encoding = dictionary_indices;
    page.body = levels(here, width) + '\x01' + run(static_cast<std::uint64_t>(page.entries), 0);
    vectors.pages.push_back(page);
  }
  return with_vectors(rows, std::move(vectors));
}

CraftedFile compressed_zeros(std::int64_t width) {
  constexpr std::size_t frame_bytes = std::size_t{16} << 20;
  PARQUET_ASSIGN_OR_THROW(const auto codec, arrow::util::Codec::Create(arrow::Compression::ZSTD));
  const auto compress = [&](const std::string& plain) {
    std::string frame(
        static_cast<std::size_t>(codec->MaxCompressedLen(static_cast<std::int64_t>(plain.size()),
                                                         reinterpret_cast<const std::uint8_t*>(plain.data()))),
        '\0');
    PARQUET_ASSIGN_OR_THROW(
        const std::int64_t length,
        codec->Compress(static_cast<std::int64_t>(plain.size()), reinterpret_cast<const std::uint8_t*>(plain.data()),
                        static_cast<std::int64_t>(frame.size()), reinterpret_cast<std::uint8_t*>(frame.data())));
    frame.resize(static_cast<std::size_t>(length));
    return frame;
  };
  // Frames of zstd may follow each other.
  CraftedPage page;
  page.entries = width;
  const std::string first = levels(1, width);
  const std::string frame = compress(std::string(frame_bytes, '\0'));
  page.body = compress(first);
  const auto frames = static_cast<std::size_t>(4 * width) / frame_bytes;
  for (std::size_t i = 0; i < frames; ++i) page.body += frame;
  page.uncompressed = static_cast<std::int64_t>(first.size() + frames * frame_bytes);
  CraftedColumn vectors;
  vectors.codec = 6;
  vectors.pages = {page};
  vectors.entries = width;
  return with_vectors(1, std::move(vectors));
}

}  // namespace attention_plasticity
