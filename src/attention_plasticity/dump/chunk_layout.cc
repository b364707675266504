#include "attention_plasticity/dump/chunk_layout.h"

#include <fmt/format.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace attention_plasticity {
namespace {

constexpr std::int64_t magic_bytes = 4;  // PAR1, with which the file begins

// What a file may claim whatever its size, and what it may claim beyond that for each of its bytes. Real heads hold one
// component in a byte or two.
constexpr std::uint64_t least_plausible_rows = std::uint64_t{1} << 20;
constexpr std::uint64_t least_plausible_entries = std::uint64_t{1} << 24;
constexpr std::uint64_t most_per_byte = 1024;

template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> how, Arguments&&... arguments) {
  throw std::runtime_error(fmt::format(how, std::forward<Arguments>(arguments)...));
}

}  // namespace

ChunkLayout::ChunkLayout(std::shared_ptr<parquet::FileMetaData> footer, std::uint64_t file_bytes,
                         std::uint64_t footer_begin)
    : footer_(std::move(footer)), file_bytes_(file_bytes), footer_begin_(footer_begin) {
  std::int64_t sum = 0;
  group_rows_.reserve(static_cast<std::size_t>(footer_->num_row_groups()));
  for (int group = 0; group < footer_->num_row_groups(); ++group) {
    const std::int64_t claimed = footer_->RowGroup(group)->num_rows();
    if (claimed < 0 || claimed > std::numeric_limits<std::int64_t>::max() - sum) refuse("impossible number of rows");
    group_rows_.push_back(static_cast<std::size_t>(claimed));
    sum += claimed;
  }
  if (sum != footer_->num_rows()) refuse("it says {} rows, and its row groups have {}", footer_->num_rows(), sum);
  rows_ = static_cast<std::size_t>(sum);
  require_plausible(rows_, least_plausible_rows, "rows");
  check_names();
}

/// The names of columns stand in the schema and once more in every row group. A column that may be missing would
/// otherwise be lost by one wrong letter.
void ChunkLayout::check_names() const {
  const parquet::SchemaDescriptor& schema = *footer_->schema();
  if (groups() == 0 || footer_->RowGroup(0)->num_columns() != schema.num_columns()) return;
  const auto group = footer_->RowGroup(0);
  for (int leaf = 0; leaf < schema.num_columns(); ++leaf) {
    const auto name = schema.Column(leaf)->path();
    const auto other = group->ColumnChunk(leaf)->path_in_schema();
    // Not as text: Arrow writes it to a stream, which is cut short when it gets no memory.
    if (name->ToDotVector() == other->ToDotVector()) continue;
    refuse("its schema has column '{}', and its row groups have '{}' there", name->ToDotString(), other->ToDotString());
  }
}

/// Vectors and positions differ from row to row, so a file holds few rows to a byte. Without this limit a file of a few
/// bytes, which repeats one number, could take any memory.
void ChunkLayout::require_plausible(std::uint64_t number, std::uint64_t least, std::string_view of_what) const {
  const std::uint64_t most = least + most_per_byte * file_bytes_;
  if (number <= most) return;
  refuse("it says {} {} in a file of {} bytes, and at most {} are read", number, of_what, file_bytes_, most);
}

std::uint64_t ChunkLayout::entries(int group, int leaf) const {
  const std::int64_t claimed = footer_->RowGroup(group)->ColumnChunk(leaf)->num_values();
  if (claimed < 0) refuse("row group {} has {} entries", group, claimed);
  return static_cast<std::uint64_t>(claimed);
}

std::size_t ChunkLayout::width(int group, int leaf) const {
  const std::uint64_t all = entries(group, leaf);
  return rows(group) > 0 && all % rows(group) == 0 ? static_cast<std::size_t>(all / rows(group)) : 0;
}

std::uint64_t ChunkLayout::largest_width(int leaf) const {
  std::uint64_t largest = 0;
  for (int group = 0; group < groups(); ++group) {
    if (rows(group) > 0) largest = std::max<std::uint64_t>(largest, entries(group, leaf) / rows(group));
  }
  return largest;
}

void ChunkLayout::check(int leaf) const {
  const parquet::SchemaDescriptor& schema = *footer_->schema();
  for (int group = 0; group < groups(); ++group) {
    const auto group_footer = footer_->RowGroup(group);
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

void ChunkLayout::check_entries(int group, int leaf) const {
  const bool is_list = footer_->schema()->Column(leaf)->max_repetition_level() > 0;
  const std::uint64_t all = entries(group, leaf);
  if (is_list ? all < rows(group) : all != rows(group)) {
    refuse("row group {} has {} entries of it, and the footer says {} rows", group, all, rows(group));
  }
  if (is_list) require_plausible(all, least_plausible_entries, "components");
}

ByteRange ChunkLayout::range(int group, int leaf) const {
  const auto chunk = footer_->RowGroup(group)->ColumnChunk(leaf);
  if (chunk->num_values() == 0) return {};
  std::int64_t start = chunk->data_page_offset();
  if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0) {
    start = std::min(start, chunk->dictionary_page_offset());
  }
  const std::int64_t length = chunk->total_compressed_size();
  const auto end = static_cast<std::int64_t>(footer_begin_);
  if (start < magic_bytes || length < 0 || length > end || start > end - length) {
    refuse("the footer says that it has {} bytes from byte {} on, and the columns end at byte {}", length, start, end);
  }
  ByteRange range{static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(start + length)};
  // Old files of parquet-mr do not count the header of the dictionary's page.
  if (footer_->writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION())) {
    constexpr std::uint64_t longest_header = 100;
    range.end += std::min(longest_header, footer_begin_ - range.end);
  }
  return range;
}

std::vector<ByteRange> ChunkLayout::ranges(int group, std::span<const int> leaves) const {
  std::vector<ByteRange> all;
  all.reserve(leaves.size());
  for (const int leaf : leaves) {
    if (const ByteRange chunk = range(group, leaf); chunk.size() > 0) all.push_back(chunk);
  }
  std::ranges::sort(all, {}, &ByteRange::begin);
  return all;
}

bool ChunkLayout::is_in_order(std::span<const int> leaves) const {
  std::uint64_t end = 0;
  for (int group = 0; group < groups(); ++group) {
    for (const ByteRange& chunk : ranges(group, leaves)) {
      if (chunk.begin < end) return false;
      end = chunk.end;
    }
  }
  return true;
}

}  // namespace attention_plasticity
