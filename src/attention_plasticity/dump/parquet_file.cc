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
#include <limits>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/dump/column_decoder.h"
#include "attention_plasticity/dump/file_bytes.h"
#include "attention_plasticity/dump/footer_scan.h"
#include "attention_plasticity/dump/parquet_footer.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view try_again = "download or capture this head again";

/// Text from a file or from Arrow, on one line and cut, for a message.
std::string one_line(std::string_view text) {
  constexpr std::size_t longest = 300;
  std::string line(text.substr(0, longest));
  std::ranges::replace_if(line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  while (!line.empty() && (line.back() == ' ' || line.back() == '.')) line.pop_back();
  return line;
}

// A Parquet file consists of PAR1, the columns, the footer, the footer's length in four bytes, and PAR1.
constexpr std::string_view magic = "PAR1";
constexpr std::string_view encrypted_magic = "PARE";
constexpr std::uint64_t smallest_parquet = 12;

[[noreturn]] void refuse(const fs::path& file, const std::string& message) {
  throw Error(ErrorKind::input, message, file.string());
}

/// Up to `most` bytes from `offset` on.
std::string read_some(const InputFile& file, std::uint64_t offset, std::uint64_t most) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(std::min(most, file.size() - offset)));
  file.read(offset, bytes);
  return {bytes.begin(), bytes.end()};
}

bool looks_like_html(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const std::string lower = lower_case(text);
  // An XML declaration or a comment may come before the page itself.
  return lower.starts_with("<!doctype html") || lower.starts_with("<html") || lower.starts_with("<head") ||
         (lower.starts_with('<') && lower.find("<html") != std::string::npos);
}

// Files that stand in the place of a Parquet file when a whole dump was compressed.
struct Archive {
  std::string_view first_bytes;
  std::string_view name;
  std::string_view program;  // that decompresses it
};
constexpr std::array archives{
    Archive{"\x1f\x8b", "gzip", "gunzip"},
    Archive{"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
    Archive{"PK\x03\x04", "zip", "unzip"},
    Archive{"BZh", "bzip2", "bunzip2"},
    Archive{std::string_view("\xfd\x37zXZ\0", 6), "xz", "unxz"},
};

void refuse_archive(const fs::path& file, std::string_view first) {
  for (const Archive& archive : archives) {
    if (!first.starts_with(archive.first_bytes)) continue;
    refuse(file, fmt::format("this is a file compressed by {}, not a Parquet file; decompress it with {}, and name "
                             "what comes out data.parquet",
                             archive.name, archive.program));
  }
}

bool ends_well(const InputFile& file) {
  return file.size() >= smallest_parquet && read_some(file, file.size() - magic.size(), magic.size()) == magic;
}

/// Throws unless the first and last bytes of a file are those of Parquet. The message tells an empty file, a Git LFS
/// pointer, an HTML page, a compressed file, an encrypted and a truncated one.
void require_parquet(const InputFile& source) {
  const fs::path& file = source.path();
  if (source.size() == 0) refuse(file, "the file is empty; download or capture this head again");
  // The end of a remote file, with its footer, is read anyway. Its beginning would be one more request.
  if (source.is_remote() && ends_well(source)) return;
  const std::string first = read_some(source, 0, 512);
  if (first.starts_with("version https://git-lfs")) {
    refuse(file, "this is a Git LFS pointer, not the data it stands for; run `git lfs pull` in the dump's folder");
  }
  if (looks_like_html(first)) {
    refuse(file, "this is an HTML page, not a Parquet file: the download went wrong; download this head again");
  }
  refuse_archive(file, first);
  if (first.starts_with(encrypted_magic)) {
    refuse(file, "this Parquet file is encrypted; write the dump without encryption");
  }
  const bool starts_well = first.starts_with(magic) || magic.starts_with(first);
  if (!starts_well) refuse(file, "this is not a Parquet file; download or capture this head again");
  if (!ends_well(source)) {
    refuse(file, fmt::format("the Parquet file is truncated: it ends after {} bytes without its footer; download or "
                             "capture this head again",
                             source.size()));
  }
}

/// Arrow's memory for decoding one column at a time. Refuses to hold more than the footer claims that it takes, so that
/// pages which turn out larger are not decoded.
class LimitedPool : public arrow::MemoryPool {
 public:
  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  void set_limit(std::uint64_t bytes) { limit_ = static_cast<std::int64_t>(bytes); }
  std::int64_t limit() const { return limit_; }
  /// The bytes that it would have held when it refused for the first time.
  std::optional<std::int64_t> refused() const { return refused_; }

  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    ARROW_RETURN_NOT_OK(require(size));
    ARROW_RETURN_NOT_OK(pool_->Allocate(size, alignment, out));
    return count(size);
  }
  // Old and new memory may be there at once.
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** memory) override {
    ARROW_RETURN_NOT_OK(require(new_size));
    ARROW_RETURN_NOT_OK(pool_->Reallocate(old_size, new_size, alignment, memory));
    return count(new_size - old_size);
  }
  void Free(std::uint8_t* memory, std::int64_t size, std::int64_t alignment) override {
    pool_->Free(memory, size, alignment);
    held_ -= size;
  }

  std::int64_t bytes_allocated() const override { return held_; }
  std::int64_t total_bytes_allocated() const override { return total_; }
  std::int64_t num_allocations() const override { return allocations_; }
  std::string backend_name() const override { return pool_->backend_name(); }

 private:
  arrow::Status require(std::int64_t more) {
    if (more <= limit_ - held_) return arrow::Status::OK();
    if (!refused_) refused_ = more > std::numeric_limits<std::int64_t>::max() - held_ ? more : held_ + more;
    return arrow::Status::OutOfMemory("more memory than the footer claims");
  }
  arrow::Status count(std::int64_t more) {
    held_ += more;
    total_ += std::max<std::int64_t>(0, more);
    ++allocations_;
    return arrow::Status::OK();
  }

  arrow::MemoryPool* pool_ = arrow::default_memory_pool();
  std::int64_t limit_ = 0;
  std::int64_t held_ = 0;
  std::int64_t total_ = 0;
  std::int64_t allocations_ = 0;
  std::optional<std::int64_t> refused_;
};

}  // namespace

struct ParquetFile::Impl {
  std::shared_ptr<const InputFile> source;
  const InputFile& file;
  std::string path;
  std::size_t max_width;
  std::unique_ptr<const ParquetFooter> footer;

  LimitedPool pool;
  std::uint64_t entries_seen = 0;  ///< in the pages of the column that is being decoded
  FileBytes bytes{file};
  std::vector<int> leaves_to_read;
  bool takes_digest = false;
  bool reads_whole_file = false;  ///< into memory, because the row groups lie in another order
  std::optional<int> group_in_memory;

  /// Runs `action` and turns every failure but a lack of memory into an Error that says that `what` cannot be read.
  template <class Action>
  auto guarded(const std::string& what, Action&& action) const {
    try {
      return std::forward<Action>(action)();
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const BeyondLimit& beyond) {
      refuse(path, fmt::format("{}; write the file again with the columns of a head only", beyond.what()));
    } catch (const BadThrift& bad) {
      refuse(path, fmt::format("{} {}: the file is damaged; {}", what, bad.what(), try_again));
    } catch (const std::exception& failure) {
      if (pool.refused()) {
        refuse(path, fmt::format("{} takes {} bytes in memory, and by the footer at most {}: the file is damaged; {}",
                                 what, *pool.refused(), pool.limit(), try_again));
      }
      const auto* status = dynamic_cast<const parquet::ParquetStatusException*>(&failure);
      if (status != nullptr && status->status().IsOutOfMemory()) throw std::bad_alloc();
      const std::string why = one_line(failure.what());
      if (why.find("CRC checksum") != std::string::npos) {
        refuse(path, fmt::format("a page of {} has a wrong checksum: the file is damaged; {}", what, try_again));
      }
      refuse(path, fmt::format("{} cannot be read ({}): the file is damaged; {}", what, why, try_again));
    }
  }

  Impl(std::shared_ptr<const InputFile> input, std::size_t max_vector_width)
      : source(std::move(input)), file(*source), path(file.path().string()), max_width(max_vector_width) {
    require_parquet(file);
    guarded("the footer", [this] { footer = std::make_unique<const ParquetFooter>(file); });
  }

  /// The leaf columns below the top-level column of that name.
  std::vector<int> leaves(const std::string& name) const {
    std::vector<int> found;
    for (int leaf = 0; leaf < schema()->num_columns(); ++leaf) {
      if (schema()->GetColumnRoot(leaf)->name() == name) found.push_back(leaf);
    }
    return found;
  }

  std::string column_names() const {
    constexpr int most = 20;
    const parquet::schema::GroupNode& top = *schema()->group_node();
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
    const ByteRange chunk = footer->range(group, leaf);
    if (chunk.size() == 0) return {};
    if (!takes_digest) {
      bytes.load(std::span(&chunk, 1));
    } else if (reads_whole_file) {
      if (!group_in_memory) bytes.load(std::array{ByteRange{0, footer->begin()}});
      group_in_memory = 0;
    } else if (group_in_memory != group) {
      bytes.load(footer->ranges(group, leaves_to_read));
      group_in_memory = group;
    }
    return bytes.at(chunk);
  }

  std::unique_ptr<parquet::PageReader> open_pages(int group, const Column& column) {
    const auto chunk = footer->metadata().RowGroup(group)->ColumnChunk(column.leaf);
    const std::span<const std::uint8_t> content = load(group, column.leaf);
    pool.set_limit(footer->decode_bytes(group, column.leaf, dictionary_bytes(group, column.leaf, content)));
    auto stream = std::make_shared<arrow::io::BufferReader>(
        std::make_shared<arrow::Buffer>(content.data(), static_cast<std::int64_t>(content.size())));
    // Old files of Arrow call their compressed pages uncompressed.
    const bool always_compressed =
        footer->metadata().writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
    parquet::ReaderProperties properties(&pool);
    properties.set_page_checksum_verification(true);
    auto pages = parquet::PageReader::Open(std::move(stream), chunk->num_values(), chunk->compression(), properties,
                                           always_compressed);
    // Called before a page is decompressed. Arrow's writer sometimes writes an empty page, which its reader takes for
    // the end of the column.
    entries_seen = 0;
    pages->set_data_page_filter([this, all = footer->entries(group, column.leaf)](const parquet::DataPageStats& page) {
      const auto entries = static_cast<std::uint64_t>(std::max(0, page.num_values));
      if (entries > all - entries_seen) {
        throw std::runtime_error(fmt::format("a page holds {} entries, and {} are left of those that the footer says",
                                             entries, all - entries_seen));
      }
      entries_seen += entries;
      return entries == 0;
    });
    return pages;
  }

  /// To be called after a column was decoded to its end.
  void require_all_entries(int group, const Column& column) const {
    const std::uint64_t all = footer->entries(group, column.leaf);
    if (entries_seen == all) return;
    throw std::runtime_error(fmt::format("its pages hold {} entries, and the footer says {}", entries_seen, all));
  }

  /// The size that a dictionary claims in the header of its page, which is the first of the column.
  std::uint64_t dictionary_bytes(int group, int leaf, std::span<const std::uint8_t> pages) const {
    if (pages.empty() || !footer->has_dictionary(group, leaf)) return 0;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, read_page_start(pages).uncompressed_bytes));
  }

  /// The beginning of the first page of a column.
  PageStart page_start(const ByteRange& chunk) const {
    constexpr std::uint64_t most = 64;  // of the fields that are read
    std::array<std::uint8_t, most> begin{};
    const auto bytes_of_page = std::span(begin).first(static_cast<std::size_t>(std::min(most, chunk.size())));
    file.read(chunk.begin, bytes_of_page);
    return read_page_start(bytes_of_page);
  }

  /// The bytes of the file that are in memory at once.
  std::uint64_t loaded_bytes() const {
    if (takes_digest && reads_whole_file) return footer->begin();
    std::uint64_t most = 0;
    std::uint64_t all = 0;
    for (int group = 0; group < footer->groups(); ++group) {
      std::uint64_t of_group = 0;
      for (const ByteRange& range : footer->ranges(group, leaves_to_read)) {
        of_group += range.size();
        if (!takes_digest) most = std::max(most, range.size());
      }
      if (takes_digest) most = std::max(most, of_group);
      all += of_group;
    }
    // A remote file keeps what was fetched of it.
    return file.is_remote() ? all + most : most;
  }

  std::uint64_t decode_bytes() const {
    std::uint64_t most = 0;
    for (int group = 0; group < footer->groups(); ++group) {
      for (const int leaf : leaves_to_read) {
        const ByteRange chunk = footer->range(group, leaf);
        if (chunk.size() == 0) continue;
        std::uint64_t dictionary = 0;
        if (footer->has_dictionary(group, leaf)) {
          // A remote file gets no request that is not needed: the dictionary may be all of the column.
          dictionary =
              file.is_remote()
                  ? std::numeric_limits<std::uint64_t>::max()
                  : static_cast<std::uint64_t>(std::max<std::int64_t>(0, page_start(chunk).uncompressed_bytes));
        }
        most = std::max(most, footer->decode_bytes(group, leaf, dictionary));
      }
    }
    return footer->memory() + loaded_bytes() + most;
  }

  void check(const Column& column) const {
    const std::uint64_t width = leaf(column).max_repetition_level() > 0 ? footer->largest_width(column.leaf) : 0;
    if (width > max_width) {
      throw Error(ErrorKind::input,
                  fmt::format("the vectors have {} components, and at most {} are read; raise `max_vector_width` if "
                              "the model's heads are that wide",
                              width, max_width),
                  path);
    }
    footer->check(column.leaf);
  }

  const parquet::SchemaDescriptor* schema() const { return footer->metadata().schema(); }
  const parquet::ColumnDescriptor& leaf(const Column& column) const { return *schema()->Column(column.leaf); }
};

ParquetFile::ParquetFile(std::shared_ptr<const InputFile> file, std::size_t max_vector_width)
    : impl_(std::make_unique<Impl>(std::move(file), max_vector_width)) {}
ParquetFile::ParquetFile(const std::filesystem::path& file, std::size_t max_vector_width)
    : ParquetFile(std::make_shared<DiskFile>(file), max_vector_width) {}
ParquetFile::~ParquetFile() = default;

std::uint64_t ParquetFile::file_bytes() const { return impl_->file.size(); }
const FileIdentity& ParquetFile::identity() const { return impl_->file.identity(); }
void ParquetFile::require_same(const FileIdentity& expected) const { impl_->file.require_same(expected); }
int ParquetFile::row_groups() const { return impl_->footer->groups(); }
std::size_t ParquetFile::rows() const { return impl_->footer->rows(); }
std::size_t ParquetFile::rows(int group) const { return impl_->footer->rows(group); }

std::optional<ParquetFile::Column> ParquetFile::find(const std::string& name, Kind kind) const {
  return impl_->guarded("the footer", [&]() -> std::optional<Column> {
    const std::vector<int> leaves = impl_->leaves(name);
    if (leaves.empty()) return std::nullopt;
    const parquet::SchemaDescriptor& schema = *impl_->schema();
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
  return impl_->guarded("the footer", [&] {
    std::uint64_t sum = 0;
    for (int group = 0; group < row_groups(); ++group) sum += impl_->footer->entries(group, column.leaf);
    return sum;
  });
}

void ParquetFile::prepare(const std::vector<Column>& columns, bool digest) {
  impl_->leaves_to_read.reserve(columns.size());
  for (const Column& column : columns) {
    impl_->guarded(fmt::format("column '{}'", column.name), [&] { impl_->check(column); });
    impl_->leaves_to_read.push_back(column.leaf);
  }
  impl_->takes_digest = digest && !impl_->file.is_remote();
  if (!impl_->takes_digest) return;
  impl_->bytes.begin_digest();
  impl_->reads_whole_file = !impl_->footer->is_in_order(impl_->leaves_to_read);
}

void ParquetFile::fetch() const {
  if (!impl_->file.is_remote()) return;
  std::vector<ByteRange> ranges;
  for (int group = 0; group < row_groups(); ++group) {
    for (const int leaf : impl_->leaves_to_read) ranges.push_back(impl_->footer->range(group, leaf));
  }
  impl_->file.expect(ranges);
}

std::uint64_t ParquetFile::decode_bytes() const {
  return impl_->guarded("the footer", [this] { return impl_->decode_bytes(); });
}

std::string ParquetFile::etag() const { return impl_->file.etag(); }

void ParquetFile::read_numbers(int group, const Column& column, const std::function<bool(const NumberBatch&)>& sink) {
  impl_->guarded(fmt::format("column '{}'", column.name), [&] {
    auto pages = impl_->open_pages(group, column);
    decode_numbers(impl_->leaf(column), std::move(pages), &impl_->pool, sink);
  });
}

void ParquetFile::read_vectors(int group, const Column& column, VectorColumn& out) {
  impl_->guarded(fmt::format("column '{}'", column.name), [&] {
    auto pages = impl_->open_pages(group, column);
    decode_vectors(impl_->leaf(column), std::move(pages), &impl_->pool, impl_->footer->width(group, column.leaf), out);
    if (!out.fault()) impl_->require_all_entries(group, column);
  });
}

void ParquetFile::read_texts(int group, const Column& column,
                             const std::function<bool(std::optional<std::string_view>)>& sink) {
  impl_->guarded(fmt::format("column '{}'", column.name), [&] {
    auto pages = impl_->open_pages(group, column);
    decode_texts(impl_->leaf(column), std::move(pages), &impl_->pool, sink);
  });
}

std::string ParquetFile::column_names() const { return impl_->column_names(); }

std::string ParquetFile::finish() {
  std::string digest = impl_->bytes.finish_digest(impl_->footer->end_of_file());
  impl_->file.require_unchanged();
  return digest;
}

bool ParquetFile::has_checksums(const Column& column) const {
  return impl_->guarded(fmt::format("column '{}'", column.name), [&] {
    for (int group = 0; group < row_groups(); ++group) {
      const ByteRange chunk = impl_->footer->range(group, column.leaf);
      if (chunk.size() == 0) continue;
      return impl_->page_start(chunk).has_checksum;
    }
    return true;
  });
}

void ParquetFile::refuse_as_damaged(const std::string& how) const {
  throw Error(ErrorKind::input, fmt::format("{}: the file is damaged; {}", how, try_again), impl_->path);
}

}  // namespace attention_plasticity
