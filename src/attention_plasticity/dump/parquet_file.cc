#include "attention_plasticity/dump/parquet_file.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <fmt/format.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_plasticity/base/memory_account.h"
#include "attention_plasticity/dump/chunk_layout.h"
#include "attention_plasticity/dump/column_decoder.h"
#include "attention_plasticity/dump/counted_pool.h"
#include "attention_plasticity/dump/file_bytes.h"
#include "attention_plasticity/dump/file_kind.h"
#include "attention_plasticity/dump/footer_limits.h"
#include "attention_plasticity/dump/page_limits.h"
#include "attention_plasticity/dump/thrift_scan.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// At the end of a file: the length of the footer in four bytes, and PAR1, with which the file also begins.
constexpr std::size_t end_bytes = 8;
constexpr std::size_t magic_bytes = 4;

constexpr std::string_view try_again = "download or capture this head again";

/// Text from a file or from Arrow, on one line and cut, for a message.
std::string one_line(std::string_view text) {
  constexpr std::size_t longest = 300;
  std::string line(text.substr(0, longest));
  std::ranges::replace_if(line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  while (!line.empty() && (line.back() == ' ' || line.back() == '.')) line.pop_back();
  return line;
}

/// Runs `action` and turns every failure but a lack of memory into an Error that says that `what` cannot be read.
template <class Action>
auto guarded(const std::string& file, const std::string& what, Action&& action) {
  try {
    return std::forward<Action>(action)();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const BeyondLimit& beyond) {
    throw Error(ErrorKind::input, fmt::format("{}; write the file anew with the columns of a head only", beyond.what()),
                file);
  } catch (const BadThrift& bad) {
    throw Error(ErrorKind::input, fmt::format("{} {}: the file is damaged; {}", what, bad.what(), try_again), file);
  } catch (const std::exception& failure) {
    const auto* status = dynamic_cast<const parquet::ParquetStatusException*>(&failure);
    if (status != nullptr && status->status().IsOutOfMemory()) throw std::bad_alloc();
    const std::string why = one_line(failure.what());
    // Arrow catches what the reader of the footer throws, and keeps only its text.
    if (why.find("std::bad_alloc") != std::string::npos) throw std::bad_alloc();
    if (why.find("CRC checksum") != std::string::npos) {
      throw Error(ErrorKind::input,
                  fmt::format("a page of {} has a wrong checksum: the file is damaged; {}", what, try_again), file);
    }
    throw Error(ErrorKind::input, fmt::format("{} cannot be read ({}): the file is damaged; {}", what, why, try_again),
                file);
  }
}

}  // namespace

struct ParquetFile::Impl {
  std::shared_ptr<const InputFile> source;
  const InputFile& file;
  std::string path;
  std::size_t max_width;
  std::uint64_t footer_begin = 0;
  std::vector<std::uint8_t> end_of_file;  ///< the footer and what follows it
  MemoryCharge footer_memory;
  std::unique_ptr<arrow::MemoryPool> counted = counted_pool();
  parquet::ReaderProperties properties;
  std::shared_ptr<parquet::FileMetaData> footer;
  ChunkLayout layout;

  FileBytes bytes{file};
  std::vector<int> leaves_to_read;
  bool takes_digest = false;
  bool reads_whole_file = false;  ///< into memory, because the row groups lie in another order
  std::optional<int> group_in_memory;

  Impl(std::shared_ptr<const InputFile> input, std::size_t max_vector_width)
      : source(std::move(input)),
        file(*source),
        path(file.path().string()),
        max_width(max_vector_width),
        properties(counted ? counted.get() : usual_pool()) {
    require_parquet(file);
    guarded(path, "the footer", [this] {
      read_footer();
      layout = ChunkLayout(footer, file.size(), footer_begin);
    });
  }

  void read_footer() {
    const std::uint64_t length = footer_length();
    footer_begin = file.size() - end_bytes - length;
    end_of_file.resize(static_cast<std::size_t>(length) + end_bytes);
    file.read(footer_begin, end_of_file);
    const auto bytes_of_footer = std::span<const std::uint8_t>(end_of_file).first(static_cast<std::size_t>(length));
    footer_memory.set(end_of_file.size() + check_footer(bytes_of_footer));
    properties.set_page_checksum_verification(true);
    properties.set_thrift_string_size_limit(static_cast<std::int32_t>(max_footer_bytes));
    properties.set_thrift_container_size_limit(static_cast<std::int32_t>(max_list_elements));
    auto parsed = static_cast<std::uint32_t>(length);
    footer = parquet::FileMetaData::Make(bytes_of_footer.data(), &parsed, properties);
    // The footer of a file with encrypted columns is followed by a signature.
    if (parsed != length && !footer->is_encryption_algorithm_set()) {
      throw std::runtime_error(fmt::format("it ends after {} of its {} bytes", parsed, length));
    }
  }

  std::uint64_t footer_length() const {
    std::array<std::uint8_t, end_bytes> last{};
    file.read(file.size() - end_bytes, last);
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length |= std::uint64_t{last.at(i)} << (8 * i);
    if (length > file.size() - end_bytes - magic_bytes) {
      throw std::runtime_error(fmt::format("it says {} bytes in a file of {}", length, file.size()));
    }
    if (length > max_footer_bytes) {
      throw BeyondLimit(fmt::format("the footer has {} bytes, and at most {} are read", length, max_footer_bytes));
    }
    return length;
  }

  /// The leaf columns below the top-level column of that name.
  std::vector<int> leaves(const std::string& name) const {
    std::vector<int> found;
    for (int leaf = 0; leaf < footer->schema()->num_columns(); ++leaf) {
      if (footer->schema()->GetColumnRoot(leaf)->name() == name) found.push_back(leaf);
    }
    return found;
  }

  std::string column_names() const {
    constexpr int most = 20;
    const parquet::schema::GroupNode& top = *footer->schema()->group_node();
    std::string names;
    for (int field = 0; field < std::min(top.field_count(), most); ++field) {
      if (field > 0) names += ", ";
      names += one_line(top.field(field)->name());
    }
    if (top.field_count() > most) names += fmt::format(" and {} more", top.field_count() - most);
    return names.empty() ? "none" : names;
  }

  /// The bytes of a column. With a digest, its row group is brought into memory first.
  std::span<const std::uint8_t> load(int group, int leaf) {
    const ByteRange chunk = layout.range(group, leaf);
    if (chunk.size() == 0) return {};
    if (!takes_digest) {
      bytes.load(std::span(&chunk, 1));
    } else if (reads_whole_file) {
      if (!group_in_memory) bytes.load(std::array{ByteRange{0, footer_begin}});
      group_in_memory = 0;
    } else if (group_in_memory != group) {
      bytes.load(layout.ranges(group, leaves_to_read));
      group_in_memory = group;
    }
    return bytes.at(chunk);
  }

  std::unique_ptr<parquet::PageReader> open_pages(int group, const Column& column) {
    const auto chunk = footer->RowGroup(group)->ColumnChunk(column.leaf);
    const std::span<const std::uint8_t> content = load(group, column.leaf);
    check_pages(content, {.rows = layout.rows(group),
                          .entries = layout.entries(group, column.leaf),
                          .value_bytes = value_bytes(leaf(column)),
                          .is_text = leaf(column).physical_type() == parquet::Type::BYTE_ARRAY,
                          .is_compressed = chunk->compression() != parquet::Compression::UNCOMPRESSED});
    auto stream = std::make_shared<arrow::io::BufferReader>(
        std::make_shared<arrow::Buffer>(content.data(), static_cast<std::int64_t>(content.size())));
    // Old files of Arrow call their compressed pages uncompressed.
    const bool always_compressed =
        footer->writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
    auto pages = parquet::PageReader::Open(std::move(stream), chunk->num_values(), chunk->compression(), properties,
                                           always_compressed);
    // Arrow's writer sometimes writes an empty page, which its reader takes for the end of the column.
    pages->set_data_page_filter([](const parquet::DataPageStats& page) { return page.num_values == 0; });
    return pages;
  }

  void check(const Column& column) const {
    const std::uint64_t width = leaf(column).max_repetition_level() > 0 ? layout.largest_width(column.leaf) : 0;
    if (width > max_width) {
      throw Error(ErrorKind::input,
                  fmt::format("the vectors have {} components, and at most {} are read; raise `max_vector_width` if "
                              "the model's heads are that wide",
                              width, max_width),
                  path);
    }
    layout.check(column.leaf);
  }

  const parquet::ColumnDescriptor& leaf(const Column& column) const { return *footer->schema()->Column(column.leaf); }
  arrow::MemoryPool* pool() const { return properties.memory_pool(); }
};

ParquetFile::ParquetFile(std::shared_ptr<const InputFile> file, std::size_t max_vector_width)
    : impl_(std::make_unique<Impl>(std::move(file), max_vector_width)) {}
ParquetFile::ParquetFile(const std::filesystem::path& file, std::size_t max_vector_width)
    : ParquetFile(std::make_shared<DiskFile>(file), max_vector_width) {}
ParquetFile::~ParquetFile() = default;

std::uint64_t ParquetFile::file_bytes() const { return impl_->file.size(); }
const FileIdentity& ParquetFile::identity() const { return impl_->file.identity(); }
void ParquetFile::require_same(const FileIdentity& expected) const { impl_->file.require_same(expected); }
int ParquetFile::row_groups() const { return impl_->layout.groups(); }
std::size_t ParquetFile::rows() const { return impl_->layout.rows(); }
std::size_t ParquetFile::rows(int group) const { return impl_->layout.rows(group); }

std::optional<ParquetFile::Column> ParquetFile::find(const std::string& name, Kind kind) const {
  return guarded(impl_->path, "the footer", [&]() -> std::optional<Column> {
    const std::vector<int> leaves = impl_->leaves(name);
    if (leaves.empty()) return std::nullopt;
    const parquet::SchemaDescriptor& schema = *impl_->footer->schema();
    const parquet::schema::Node& top = *schema.GetColumnRoot(leaves.front());
    if (leaves.size() > 1) {
      const bool twice = &top != schema.GetColumnRoot(leaves.back());
      throw Error(ErrorKind::input,
                  twice ? fmt::format("there are two columns '{}'; write the file with one", name)
                        : fmt::format("column '{}' is a group of columns; {} is needed", name, wanted(kind)),
                  impl_->path);
    }
    const parquet::ColumnDescriptor& leaf = *schema.Column(leaves.front());
    if (!allows(kind, leaf, top.is_primitive())) {
      throw Error(ErrorKind::input,
                  fmt::format("column '{}' holds {}; {} is needed", name, one_line(describe(leaf)), wanted(kind)),
                  impl_->path);
    }
    return Column{name, leaves.front()};
  });
}

ParquetFile::Column ParquetFile::require(const std::string& name, Kind kind) const {
  if (auto column = find(name, kind)) return *std::move(column);
  throw Error(ErrorKind::input,
              fmt::format("there is no column '{}'; the columns are: {}", name, impl_->column_names()), impl_->path);
}

std::uint64_t ParquetFile::entries(const Column& column) const {
  return guarded(impl_->path, "the footer", [&] {
    std::uint64_t sum = 0;
    for (int group = 0; group < row_groups(); ++group) sum += impl_->layout.entries(group, column.leaf);
    return sum;
  });
}

void ParquetFile::prepare(const std::vector<Column>& columns, bool digest) {
  impl_->leaves_to_read.reserve(columns.size());
  for (const Column& column : columns) {
    guarded(impl_->path, fmt::format("column '{}'", column.name), [&] { impl_->check(column); });
    impl_->leaves_to_read.push_back(column.leaf);
  }
  impl_->takes_digest = digest && !impl_->file.is_remote();
  if (!impl_->takes_digest) return;
  impl_->bytes.begin_digest();
  impl_->reads_whole_file = !impl_->layout.is_in_order(impl_->leaves_to_read);
}

void ParquetFile::fetch() const {
  if (!impl_->file.is_remote()) return;
  std::vector<ByteRange> ranges;
  for (int group = 0; group < row_groups(); ++group) {
    for (const int leaf : impl_->leaves_to_read) ranges.push_back(impl_->layout.range(group, leaf));
  }
  impl_->file.expect(ranges);
}

std::string ParquetFile::etag() const { return impl_->file.etag(); }

void ParquetFile::read_numbers(int group, const Column& column, const std::function<bool(const NumberBatch&)>& sink) {
  guarded(impl_->path, fmt::format("column '{}'", column.name), [&] {
    auto pages = impl_->open_pages(group, column);
    decode_numbers(impl_->leaf(column), std::move(pages), impl_->pool(), sink);
  });
}

void ParquetFile::read_vectors(int group, const Column& column, VectorColumn& out) {
  guarded(impl_->path, fmt::format("column '{}'", column.name), [&] {
    auto pages = impl_->open_pages(group, column);
    decode_vectors(impl_->leaf(column), std::move(pages), impl_->pool(), impl_->layout.width(group, column.leaf), out);
  });
}

void ParquetFile::read_texts(int group, const Column& column,
                             const std::function<bool(std::optional<std::string_view>)>& sink) {
  guarded(impl_->path, fmt::format("column '{}'", column.name), [&] {
    auto pages = impl_->open_pages(group, column);
    decode_texts(impl_->leaf(column), std::move(pages), impl_->pool(), sink);
  });
}

std::string ParquetFile::column_names() const { return impl_->column_names(); }

std::string ParquetFile::finish() {
  std::string digest = impl_->bytes.finish_digest(impl_->end_of_file);
  impl_->file.require_unchanged();
  return digest;
}

bool ParquetFile::has_checksums(const Column& column) const {
  return guarded(impl_->path, fmt::format("column '{}'", column.name), [&] {
    for (int group = 0; group < row_groups(); ++group) {
      const ByteRange chunk = impl_->layout.range(group, column.leaf);
      if (chunk.size() == 0) continue;
      constexpr std::uint64_t most = 64 << 10;  // of a header, with its statistics
      std::vector<std::uint8_t> begin(static_cast<std::size_t>(std::min(most, chunk.size())));
      impl_->file.read(chunk.begin, begin);
      return read_page_header(begin).has_checksum;
    }
    return true;
  });
}

void ParquetFile::refuse_as_damaged(const std::string& how) const {
  throw Error(ErrorKind::input, fmt::format("{}: the file is damaged; {}", how, try_again), impl_->path);
}

}  // namespace attention_plasticity
