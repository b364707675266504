#include "attention_plasticity/dump/parquet_footer.h"

#include <fmt/format.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "attention_plasticity/dump/dump_files.h"
#include "attention_plasticity/dump/footer_scan.h"

namespace attention_plasticity {
namespace {

// At the end of a file: the length of the footer in four bytes, and PAR1, with which the file also begins.
constexpr std::size_t end_bytes = 8;
constexpr std::int64_t magic_bytes = 4;

// Rows and components that a file may claim whatever its size, and those beyond them for each of its bytes. Real heads
// hold one component in a byte or two.
constexpr std::uint64_t least_plausible_rows = std::uint64_t{1} << 20;
constexpr std::uint64_t least_plausible_entries = std::uint64_t{1} << 24;
constexpr std::uint64_t most_per_byte = 1024;

// Bytes of a page besides its values: padding of the last block of delta-encoded integers, prefixes of levels.
constexpr std::uint64_t page_slack = std::uint64_t{64} << 10;
// The most bytes an entry takes beyond its value in any encoding: two bytes for each of its two levels in runs of one,
// and eight for lengths, where values are stored with them.
constexpr std::uint64_t entry_overhead = 12;
// Arrow writes the whole dictionary of a column of type dictionary with each row group, whatever the group uses of it.
constexpr std::uint64_t common_dictionary_bytes = std::uint64_t{16} << 20;
// Texts are as long as they like.
constexpr std::uint64_t most_text_bytes = std::uint64_t{1} << 30;
// Buffers of decoders, for a batch of values.
constexpr std::uint64_t decoder_bytes = std::uint64_t{1} << 20;

template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> how, Arguments&&... arguments) {
  throw std::runtime_error(fmt::format(how, std::forward<Arguments>(arguments)...));
}

/// Bytes of one value of a column as it is stored plainly; of a text, of its length.
std::uint64_t value_bytes(const parquet::ColumnDescriptor& leaf) {
  switch (leaf.physical_type()) {
    case parquet::Type::INT32:
    case parquet::Type::FLOAT:
    case parquet::Type::BYTE_ARRAY:
      return 4;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return 2;
    default:
      return 8;
  }
}

std::uint64_t footer_length(const InputFile& file) {
  std::array<std::uint8_t, end_bytes> last{};
  file.read(file.size() - end_bytes, last);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length |= std::uint64_t{last.at(i)} << (8 * i);
  if (length > file.size() - end_bytes - magic_bytes) refuse("it says {} bytes in a file of {}", length, file.size());
  if (length > max_footer_bytes) {
    throw BeyondLimit(fmt::format("the footer has {} bytes, and at most {} are read", length, max_footer_bytes));
  }
  return length;
}

}  // namespace

ParquetFooter::ParquetFooter(const InputFile& file) : file_bytes_(file.size()) {
  const std::uint64_t length = footer_length(file);
  begin_ = file_bytes_ - end_bytes - length;
  end_of_file_.resize(static_cast<std::size_t>(length) + end_bytes);
  file.read(begin_, end_of_file_);
  const auto footer = std::span<const std::uint8_t>(end_of_file_).first(static_cast<std::size_t>(length));
  memory_ = scan_footer(footer) + end_of_file_.size();
  auto parsed = static_cast<std::uint32_t>(length);
  metadata_ = parquet::FileMetaData::Make(footer.data(), &parsed);
  // The footer of a file with encrypted columns is followed by a signature.
  if (parsed != length && !metadata_->is_encryption_algorithm_set()) {
    refuse("it ends after {} of its {} bytes", parsed, length);
  }
  count_rows();
  check_names();
}

void ParquetFooter::count_rows() {
  std::int64_t sum = 0;
  group_rows_.reserve(static_cast<std::size_t>(metadata_->num_row_groups()));
  for (int group = 0; group < metadata_->num_row_groups(); ++group) {
    const std::int64_t claimed = metadata_->RowGroup(group)->num_rows();
    if (claimed < 0 || claimed > std::numeric_limits<std::int64_t>::max() - sum) refuse("impossible number of rows");
    group_rows_.push_back(static_cast<std::size_t>(claimed));
    sum += claimed;
  }
  if (sum != metadata_->num_rows()) refuse("it says {} rows, and its row groups have {}", metadata_->num_rows(), sum);
  rows_ = static_cast<std::size_t>(sum);
  require_plausible(rows_, least_plausible_rows, "rows");
}

/// The names of columns stand in the schema and once more in every row group. A column that may be missing would
/// otherwise be lost by one wrong letter.
void ParquetFooter::check_names() const {
  const parquet::SchemaDescriptor& schema = *metadata_->schema();
  if (groups() == 0 || metadata_->RowGroup(0)->num_columns() != schema.num_columns()) return;
  const auto group = metadata_->RowGroup(0);
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    const auto name = schema.Column(leaf)->path();
    const auto other = group->ColumnChunk(leaf)->path_in_schema();
    if (name->ToDotVector() == other->ToDotVector()) continue;
    refuse("its schema has column '{}', and its row groups have '{}' there", name->ToDotString(), other->ToDotString());
  }
}

/// Vectors and positions differ from row to row, so a file holds few rows to a byte. Without this limit a file of a few
/// bytes, which repeats one number, could take any memory.
void ParquetFooter::require_plausible(std::uint64_t number, std::uint64_t least, std::string_view of_what) const {
  const std::uint64_t most = least + most_per_byte * file_bytes_;
  if (number <= most) return;
  refuse("it says {} {} in a file of {} bytes, and at most {} are read", number, of_what, file_bytes_, most);
}

std::uint64_t ParquetFooter::entries(int group, int leaf) const {
  const std::int64_t claimed = metadata_->RowGroup(group)->ColumnChunk(leaf)->num_values();
  if (claimed < 0) refuse("row group {} has {} entries", group, claimed);
  return static_cast<std::uint64_t>(claimed);
}

std::size_t ParquetFooter::width(int group, int leaf) const {
  const std::uint64_t all = entries(group, leaf);
  return rows(group) > 0 && all % rows(group) == 0 ? static_cast<std::size_t>(all / rows(group)) : 0;
}

std::uint64_t ParquetFooter::largest_width(int leaf) const {
  std::uint64_t largest = 0;
  for (int group = 0; group < groups(); ++group) {
    if (rows(group) > 0) largest = std::max<std::uint64_t>(largest, entries(group, leaf) / rows(group));
  }
  return largest;
}

void ParquetFooter::check(int leaf) const {
  const parquet::SchemaDescriptor& schema = *metadata_->schema();
  for (int group = 0; group < groups(); ++group) {
    const auto group_footer = metadata_->RowGroup(group);
    if (group_footer->num_columns() != schema.num_columns()) {
      refuse("row group {} has {} columns, and the schema {}", group, group_footer->num_columns(),
             schema.num_columns());
    }
    const auto chunk = group_footer->ColumnChunk(leaf);
    if (chunk->crypto_metadata()) refuse("it is encrypted");
    if (chunk->type() != schema.Column(leaf)->physical_type()) {
      refuse("row group {} holds {}, and the schema says {}", group, parquet::TypeToString(chunk->type()),
             parquet::TypeToString(schema.Column(leaf)->physical_type()));
    }
    check_entries(group, leaf);
    range(group, leaf);
  }
}

void ParquetFooter::check_entries(int group, int leaf) const {
  const bool is_list = metadata_->schema()->Column(leaf)->max_repetition_level() > 0;
  const std::uint64_t all = entries(group, leaf);
  if (is_list ? all < rows(group) : all != rows(group)) {
    refuse("row group {} has {} entries of it, and the footer says {} rows", group, all, rows(group));
  }
  if (is_list) require_plausible(all, least_plausible_entries, "components");
}

ByteRange ParquetFooter::range(int group, int leaf) const {
  const auto chunk = metadata_->RowGroup(group)->ColumnChunk(leaf);
  if (chunk->num_values() == 0) return {};
  std::int64_t start = chunk->data_page_offset();
  if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0) {
    start = std::min(start, chunk->dictionary_page_offset());
  }
  const std::int64_t length = chunk->total_compressed_size();
  const auto end = static_cast<std::int64_t>(begin_);
  if (start < magic_bytes || length < 0 || length > end || start > end - length) {
    refuse("the footer says that it has {} bytes from byte {} on, and the columns end at byte {}", length, start, end);
  }
  ByteRange range{static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(start + length)};
  // Old files of parquet-mr do not count the header of the dictionary's page.
  if (metadata_->writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION())) {
    constexpr std::uint64_t longest_header = 100;
    range.end += std::min(longest_header, begin_ - range.end);
  }
  return range;
}

std::vector<ByteRange> ParquetFooter::ranges(int group, std::span<const int> leaves) const {
  std::vector<ByteRange> all;
  all.reserve(leaves.size());
  for (const int leaf : leaves) {
    if (const ByteRange chunk = range(group, leaf); chunk.size() > 0) all.push_back(chunk);
  }
  std::ranges::sort(all, {}, &ByteRange::begin);
  return all;
}

bool ParquetFooter::is_in_order(std::span<const int> leaves) const {
  std::uint64_t end = 0;
  for (int group = 0; group < groups(); ++group) {
    for (const ByteRange& chunk : ranges(group, leaves)) {
      if (chunk.begin < end) return false;
      end = chunk.end;
    }
  }
  return true;
}

bool ParquetFooter::has_dictionary(int group, int leaf) const {
  const auto chunk = metadata_->RowGroup(group)->ColumnChunk(leaf);
  // Some writers do not say where the dictionary lies.
  return chunk->has_dictionary_page() || std::ranges::any_of(chunk->encodings(), [](parquet::Encoding::type encoding) {
           return encoding == parquet::Encoding::PLAIN_DICTIONARY || encoding == parquet::Encoding::RLE_DICTIONARY;
         });
}

std::uint64_t ParquetFooter::decode_bytes(int group, int leaf, std::uint64_t dictionary_bytes) const {
  const parquet::ColumnDescriptor& column = *metadata_->schema()->Column(leaf);
  const auto chunk = metadata_->RowGroup(group)->ColumnChunk(leaf);
  const auto claimed = static_cast<std::uint64_t>(std::max<std::int64_t>(0, chunk->total_uncompressed_size()));
  if (column.physical_type() == parquet::Type::BYTE_ARRAY) {
    return decoder_bytes + 2 * std::min(claimed, most_text_bytes);
  }
  const std::uint64_t all = entries(group, leaf);
  const std::uint64_t dictionary =
      std::min({dictionary_bytes, claimed, std::max(common_dictionary_bytes, page_slack + all * value_bytes(column))});
  // Arrow holds one decompressed page, and two while it makes place for a larger one: no more than all pages together.
  const std::uint64_t pages =
      std::min(claimed, 2 * page_slack + all * (value_bytes(column) + entry_overhead) + dictionary);
  // Lengths of values, which only halves may be stored with.
  const std::uint64_t lengths = column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY ? 8 * all : 0;
  const bool is_compressed = chunk->compression() != parquet::Compression::UNCOMPRESSED;
  return decoder_bytes + (is_compressed ? pages : 0) + dictionary + lengths;
}

}  // namespace attention_plasticity
