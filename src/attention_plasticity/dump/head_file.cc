#include "attention_plasticity/dump/head_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "attention_plasticity/base/finite.h"
#include "attention_plasticity/dump/parquet_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

using Column = ParquetFile::Column;
using Kind = ParquetFile::Kind;

/// Memory is reserved for as many values as the footer says, up to this many times the file's size: a footer may lie. A
/// column that compresses better than this holds hardly more than one number, and its memory grows as it is read.
constexpr std::size_t plausible_compression = 64;

/// Memory for the values of a column that are decoded at once.
constexpr std::uint64_t batch_bytes = std::uint64_t{1} << 20;

std::size_t width_by_footer(const ParquetFile& source, const Column& vector) {
  const std::uint64_t entries = source.entries(vector);
  return source.rows() > 0 && entries % source.rows() == 0 ? static_cast<std::size_t>(entries / source.rows()) : 0;
}

class HeadFileReader {
 public:
  HeadFileReader(std::shared_ptr<const InputFile> file, Side side, HeadPart part, const ReadOptions& options)
      : path_(file->path().string()),
        source_(std::move(file), options.max_vector_width),
        reads_vectors_(part == HeadPart::rows),
        options_(options),
        bucket_(source_.require("bucket", Kind::integer)),
        example_(source_.find("example_id", Kind::integer)),
        position_(source_.require("position", Kind::number)),
        vector_(source_.require("vector", Kind::vector)),
        vectors_(result_.rows.vectors, source_.rows(), most_reserved_bytes() / sizeof(float)) {
    // The window of keys is never used, so nothing that a key file says about it is an error.
    if (side == Side::query) window_ = source_.find("sliding_window", Kind::number);
    source_.prepare(columns(), reads_vectors_);
  }

  void fetch() const { source_.fetch(); }

  HeadFileSize size() const {
    HeadFileSize size;
    size.rows = source_.rows();
    size.width = width_by_footer(source_, vector_);
    const std::uint64_t numbers = 8 * size.rows * (example_ ? 3 : 2);
    const std::uint64_t vectors = sizeof(float) * source_.entries(vector_);
    size.row_bytes = numbers + vectors;
    // Memory that is not reserved at once grows by doubling, with the old and the new memory there together.
    const bool is_reserved = std::max(8 * std::uint64_t{size.rows}, vectors) <= most_reserved_bytes();
    size.read_bytes = (is_reserved ? 1 : 3) * size.row_bytes + source_.decode_bytes() + batch_bytes;
    return size;
  }

  HeadFile read() {
    if (options_.expected) source_.require_same(*options_.expected);
    if (source_.rows() == 0) refuse("the file has no rows; capture this head again");
    fetch();
    reserve();
    for (int group = 0; group < source_.row_groups(); ++group) read_group(group);
    HeadRows& rows = result_.rows;
    if (rows.size() == 0) {
      refuse(fmt::format("the vectors of all {} rows hold NaN or infinity, so no row is left; capture this head again",
                         result_.dropped_rows));
    }
    rows.width = reads_vectors_ ? vectors_.width() : width_by_footer(source_, vector_);
    if (seen_window_) rows.window = *seen_window_;
    result_.input = {source_.file_bytes(), source_.finish(), source_.etag()};
    return std::move(result_);
  }

 private:
  std::vector<Column> columns() const {
    std::vector<Column> all{bucket_, position_};
    if (example_) all.push_back(*example_);
    if (reads_vectors_) all.push_back(vector_);
    if (window_) all.push_back(*window_);
    return all;
  }

  std::size_t most_reserved_bytes() const {
    return static_cast<std::size_t>(source_.file_bytes()) * plausible_compression;
  }

  void reserve() {
    const std::size_t rows = std::min(source_.rows(), most_reserved_bytes() / sizeof(double));
    result_.rows.bucket.reserve(rows);
    if (example_) result_.rows.example.reserve(rows);
    result_.rows.position.reserve(rows);
  }

  void read_group(int group) {
    fault_.reset();
    const std::size_t kept = result_.rows.size();
    HeadRows& rows = result_.rows;
    read_column(
        group, bucket_, [&](const NumberBatch& batch) { return append_buckets(batch, rows.bucket); },
        [&](const Number& n) { rows.bucket.push_back(to_bucket(n)); });
    if (example_) {
      read_column(
          group, *example_, [&](const NumberBatch& batch) { return append_examples(batch, rows.example); },
          [&](const Number& n) { rows.example.push_back(to_example(n)); });
    }
    read_column(
        group, position_, [&](const NumberBatch& batch) { return append_positions(batch, rows.position); },
        [&](const Number& n) { rows.position.push_back(to_position(n)); });
    if (reads_vectors_) read_vectors(group, kept);
    if (window_) read_window(group, *window_);
    if (fault_) refuse(fault_->message);
    if (reads_vectors_ && options_.drop_non_finite && !vectors_.all_finite()) drop_non_finite(kept);
    first_row_ += source_.rows(group);
  }

  /// Keeps the fault of the smallest row of the row group. Within a row, the column that is read first wins.
  void add_fault(std::size_t row, std::string message) {
    if (!fault_ || row < fault_->row) fault_ = RowFault{row, std::move(message)};
  }

  void read_window(int group, const Column& column) {
    const auto take = [this](const Number& number) { take_window(to_window(number)); };
    const auto take_all = [&](const NumberBatch& batch) {
      if (!batch.is_constant()) return false;
      take(batch[0]);
      return true;
    };
    read_column(group, column, take_all, take);
  }

  /// Offers the numbers to `take_all` batch by batch. A batch that it refuses (false) goes to `take` one by one.
  template <class TakeAll, class Take>
  void read_column(int group, const Column& column, TakeAll take_all, Take take) {
    row_ = first_row_;
    bool whole = true;
    source_.read_numbers(group, column, [&](const NumberBatch& numbers) {
      try {
        if (take_all(numbers)) {
          row_ += numbers.size();
          return true;
        }
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          take(numbers[i]);
          ++row_;
        }
      } catch (const BadValue& bad) {
        add_fault(row_, fmt::format("{} {} in row {}; correct the file or capture this head again", column.name,
                                    bad.what(), row_));
        whole = false;
      }
      return whole;
    });
    if (whole) require_rows(group, column, row_ - first_row_);
  }

  void read_vectors(int group, std::size_t kept) {
    const std::size_t before = vectors_.rows();
    source_.read_vectors(group, vector_, vectors_);
    if (!vectors_.fault()) vectors_.finish_group();
    if (!options_.drop_non_finite && !vectors_.all_finite()) find_non_finite(kept);
    if (const auto& fault = vectors_.fault()) {
      add_fault(fault->row, fmt::format("{} in row {}; every row needs one vector of the same width: capture this head "
                                        "again",
                                        fault->message, fault->row));
    } else {
      require_rows(group, vector_, vectors_.rows() - before);
    }
  }

  /// Looks at the rows of this row group, which begin at row `kept` of the result.
  void find_non_finite(std::size_t kept) {
    const std::size_t width = vectors_.width();
    if (width == 0) return;
    const LargeVector<float>& all = result_.rows.vectors;
    for (std::size_t row = kept; (row + 1) * width <= all.size(); ++row) {
      const std::span<const float> components(all.data() + row * width, width);
      if (all_finite(components)) continue;
      const auto odd = std::ranges::find_if_not(components, [](float x) { return std::isfinite(x); });
      const std::size_t file_row = first_row_ + (row - kept);
      add_fault(file_row, fmt::format("vector holds {} in row {}; capture this head again, or set non_finite: drop to "
                                      "leave such rows out",
                                      std::isnan(*odd) ? "NaN" : "infinity", file_row));
      return;
    }
  }

  void drop_non_finite(std::size_t kept) {
    HeadRows& rows = result_.rows;
    const std::size_t width = vectors_.width();
    std::size_t to = kept;
    for (std::size_t from = kept; from < rows.size(); ++from) {
      const std::span<const float> components(rows.vectors.data() + from * width, width);
      if (!all_finite(components)) continue;
      if (to != from) {
        rows.bucket[to] = rows.bucket[from];
        if (example_) rows.example[to] = rows.example[from];
        rows.position[to] = rows.position[from];
        std::ranges::copy(components, rows.vectors.begin() + static_cast<std::ptrdiff_t>(to * width));
      }
      ++to;
    }
    result_.dropped_rows += rows.size() - to;
    rows.bucket.resize(to);
    if (example_) rows.example.resize(to);
    rows.position.resize(to);
    rows.vectors.resize(to * width);
  }

  void take_window(std::optional<double> window) {
    if (!seen_window_) seen_window_.emplace(window);
    if (*seen_window_ == window) return;
    const auto text = [](std::optional<double> w) { return w ? fmt::format("{}", *w) : std::string("none"); };
    throw BadValue(
        fmt::format("changes from {} to {} (a head must have one window)", text(*seen_window_), text(window)));
  }

  void require_rows(int group, const Column& column, std::size_t found) const {
    if (found == source_.rows(group)) return;
    source_.refuse_as_damaged(fmt::format("column '{}' has {} rows in row group {}, and the footer says {}",
                                          column.name, found, group, source_.rows(group)));
  }

  [[noreturn]] void refuse(const std::string& message) const { throw Error(ErrorKind::input, message, path_); }

  std::string path_;
  ParquetFile source_;
  bool reads_vectors_;
  ReadOptions options_;
  HeadFile result_;
  Column bucket_;
  std::optional<Column> example_;
  Column position_;
  Column vector_;
  std::optional<Column> window_;
  VectorColumn vectors_;
  std::optional<std::optional<double>> seen_window_;
  std::size_t first_row_ = 0;  ///< first row of the current row group
  std::size_t row_ = 0;        ///< next row of the current column
  std::optional<RowFault> fault_;
};

}  // namespace

HeadFooter read_head_footer(std::shared_ptr<const InputFile> file, std::size_t max_vector_width) {
  ParquetFile source(std::move(file), max_vector_width);
  const Column vector = source.require("vector", Kind::vector);
  source.prepare({vector}, false);
  return {source.rows(), width_by_footer(source, vector), source.identity()};
}

HeadFooter read_head_footer(const std::filesystem::path& file, std::size_t max_vector_width) {
  return read_head_footer(std::make_shared<DiskFile>(file), max_vector_width);
}

bool has_page_checksums(std::shared_ptr<const InputFile> file) {
  const ParquetFile source(std::move(file), default_max_vector_width);
  return source.has_checksums(source.require("vector", Kind::vector));
}

bool has_page_checksums(const std::filesystem::path& file) {
  return has_page_checksums(std::make_shared<DiskFile>(file));
}

HeadTokens read_head_tokens(std::shared_ptr<const InputFile> file, Side side) {
  HeadRows rows = HeadFileReader(std::move(file), side, HeadPart::tokens, {}).read().rows;
  return {rows.width, std::move(rows.bucket), std::move(rows.example), std::move(rows.position), rows.window};
}

HeadTokens read_head_tokens(const std::filesystem::path& file, Side side) {
  return read_head_tokens(std::make_shared<DiskFile>(file), side);
}

HeadFileSize measure_head_file(std::shared_ptr<const InputFile> file, Side side, const ReadOptions& options) {
  return HeadFileReader(std::move(file), side, HeadPart::rows, options).size();
}

HeadFile read_head_file(std::shared_ptr<const InputFile> file, Side side, const ReadOptions& options) {
  return HeadFileReader(std::move(file), side, HeadPart::rows, options).read();
}

HeadFile read_head_file(const std::filesystem::path& file, Side side, const ReadOptions& options) {
  return read_head_file(std::make_shared<DiskFile>(file), side, options);
}

void fetch_head_file(std::shared_ptr<const InputFile> file, Side side, HeadPart part, const ReadOptions& options) {
  if (file->is_remote()) HeadFileReader(std::move(file), side, part, options).fetch();
}

}  // namespace attention_plasticity
