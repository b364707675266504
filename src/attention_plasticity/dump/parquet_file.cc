#include "attention_plasticity/dump/parquet_file.h"

#include <arrow/io/file.h>
#include <fmt/format.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string_view>
#include <vector>

#include "attention_plasticity/dump/column_decoder.h"
#include "attention_plasticity/dump/file_kind.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr std::string_view try_again = "download or capture this head again";

/// Text from a file or from Arrow, on one line and cut, for a message.
std::string one_line(std::string_view text) {
  constexpr std::size_t longest = 300;
  std::string line(text.substr(0, longest));
  std::ranges::replace_if(line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  while (!line.empty() && (line.back() == ' ' || line.back() == '.')) line.pop_back();
  return line;
}

/// Runs `action` and turns every failure into an Error that says that `what` cannot be read.
template <class Action>
auto guarded(const std::string& file, const std::string& what, Action&& action) {
  try {
    return std::forward<Action>(action)();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::input, fmt::format("not enough memory to read {}", what), file);
  } catch (const std::exception& failure) {
    const std::string why = one_line(failure.what());
    if (why.find("CRC checksum") != std::string::npos) {
      throw Error(ErrorKind::input,
                  fmt::format("a page of {} has a wrong checksum: the file is damaged; {}", what, try_again), file);
    }
    throw Error(ErrorKind::input, fmt::format("{} cannot be read ({}): the file is damaged; {}", what, why, try_again),
                file);
  }
}

std::string describe(const parquet::ColumnDescriptor& leaf) {
  const auto& logical = leaf.logical_type();
  return fmt::format("{}{}{}", leaf.max_repetition_level() > 0 ? "a list of " : "",
                     parquet::TypeToString(leaf.physical_type()),
                     logical && !logical->is_none() ? fmt::format(" ({})", logical->ToString()) : "");
}

bool is_integer(const parquet::ColumnDescriptor& leaf) {
  if (leaf.physical_type() != parquet::Type::INT32 && leaf.physical_type() != parquet::Type::INT64) return false;
  const auto& logical = leaf.logical_type();
  return !logical || logical->is_none() || logical->is_int() || logical->is_null();
}

bool is_real(const parquet::ColumnDescriptor& leaf) {
  if (leaf.physical_type() == parquet::Type::FLOAT || leaf.physical_type() == parquet::Type::DOUBLE) return true;
  return leaf.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY && leaf.type_length() == 2 &&
         leaf.logical_type() && leaf.logical_type()->is_float16();
}

bool allows(ParquetFile::Kind kind, const parquet::ColumnDescriptor& leaf, bool is_primitive) {
  switch (kind) {
    case ParquetFile::Kind::integer:
      return is_primitive && leaf.max_repetition_level() == 0 && is_integer(leaf);
    case ParquetFile::Kind::number:
      return is_primitive && leaf.max_repetition_level() == 0 && (is_integer(leaf) || is_real(leaf));
    case ParquetFile::Kind::vector:
      return is_real(leaf) && is_list_of_primitives(leaf);
  }
  return false;
}

std::string_view wanted(ParquetFile::Kind kind) {
  switch (kind) {
    case ParquetFile::Kind::integer:
      return "an integer";
    case ParquetFile::Kind::number:
      return "an integer, half, float or double";
    case ParquetFile::Kind::vector:
      return "a list of half, float or double";
  }
  return "";
}

}  // namespace

struct ParquetFile::Impl {
  std::string path;
  std::uint64_t bytes = 0;
  std::unique_ptr<parquet::ParquetFileReader> reader;
  std::shared_ptr<parquet::FileMetaData> footer;
  std::vector<std::size_t> group_rows;
  std::size_t rows = 0;

  explicit Impl(const std::filesystem::path& file) : path(file.string()), bytes(require_parquet(file)) {
    guarded(path, "the footer", [this] {
      parquet::ReaderProperties properties;
      properties.set_page_checksum_verification(true);
      PARQUET_ASSIGN_OR_THROW(auto source, arrow::io::ReadableFile::Open(path));
      reader = parquet::ParquetFileReader::Open(std::move(source), properties);
      footer = reader->metadata();
      count_rows();
    });
  }

  void count_rows() {
    for (int group = 0; group < footer->num_row_groups(); ++group) {
      const std::int64_t claimed = footer->RowGroup(group)->num_rows();
      if (claimed < 0 || static_cast<std::size_t>(claimed) > std::numeric_limits<std::int64_t>::max() - rows) {
        throw parquet::ParquetException("impossible number of rows");
      }
      group_rows.push_back(static_cast<std::size_t>(claimed));
      rows += group_rows.back();
    }
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

  /// Checked first, because Arrow allocates the size that the footer claims before it reads.
  void require_inside_file(const parquet::ColumnChunkMetaData& chunk) const {
    std::int64_t start = chunk.data_page_offset();
    if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0) {
      start = std::min(start, chunk.dictionary_page_offset());
    }
    const std::int64_t length = chunk.total_compressed_size();
    const auto size = static_cast<std::int64_t>(bytes);
    if (start < 0 || length < 0 || length > size || start > size - length) {
      throw parquet::ParquetException("the footer points past the end of the file");
    }
  }

  /// Components of a vector in the row group: its entries over its rows; 0 if that is not whole.
  std::size_t width(int group, const Column& column) const {
    const std::int64_t entries = footer->RowGroup(group)->ColumnChunk(column.leaf)->num_values();
    const std::size_t rows_of_group = group_rows.at(static_cast<std::size_t>(group));
    if (entries <= 0 || rows_of_group == 0 || static_cast<std::size_t>(entries) % rows_of_group != 0) return 0;
    return static_cast<std::size_t>(entries) / rows_of_group;
  }

  std::unique_ptr<parquet::PageReader> open_pages(int group, const Column& column) const {
    const auto row_group = reader->RowGroup(group);
    require_inside_file(*row_group->metadata()->ColumnChunk(column.leaf));
    auto pages = row_group->GetColumnPageReader(column.leaf);
    // Arrow's writer sometimes writes an empty page, which its reader takes for the end of the column.
    pages->set_data_page_filter([](const parquet::DataPageStats& page) { return page.num_values == 0; });
    return pages;
  }

  std::shared_ptr<parquet::ColumnReader> open(int group, const Column& column) const {
    return parquet::ColumnReader::Make(footer->schema()->Column(column.leaf), open_pages(group, column));
  }
};

ParquetFile::ParquetFile(const std::filesystem::path& file) : impl_(std::make_unique<const Impl>(file)) {}
ParquetFile::~ParquetFile() = default;

std::uint64_t ParquetFile::file_bytes() const { return impl_->bytes; }
int ParquetFile::row_groups() const { return static_cast<int>(impl_->group_rows.size()); }
std::size_t ParquetFile::rows() const { return impl_->rows; }
std::size_t ParquetFile::rows(int group) const { return impl_->group_rows.at(static_cast<std::size_t>(group)); }

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
    for (int group = 0; group < row_groups(); ++group) {
      const auto entries = impl_->footer->RowGroup(group)->ColumnChunk(column.leaf)->num_values();
      sum += static_cast<std::uint64_t>(std::max<std::int64_t>(0, entries));
    }
    return sum;
  });
}

void ParquetFile::read_numbers(int group, const Column& column,
                               const std::function<bool(const NumberBatch&)>& sink) const {
  guarded(impl_->path, fmt::format("column '{}'", column.name),
          [&] { decode_numbers(*impl_->open(group, column), sink); });
}

void ParquetFile::read_vectors(int group, const Column& column, VectorColumn& out) const {
  guarded(impl_->path, fmt::format("column '{}'", column.name), [&] {
    auto pages = impl_->open_pages(group, column);
    decode_vectors(*impl_->footer->schema()->Column(column.leaf), std::move(pages), impl_->width(group, column), out);
  });
}

void ParquetFile::refuse_as_damaged(const std::string& how) const {
  throw Error(ErrorKind::input, fmt::format("{}: the file is damaged; {}", how, try_again), impl_->path);
}

}  // namespace attention_plasticity
