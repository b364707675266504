#include "attention_plasticity/dump/page_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "attention_plasticity/dump/thrift_scan.h"

namespace attention_plasticity {
namespace {

// What a page may have besides its values: padding of the last block of delta-encoded integers, prefixes of levels.
constexpr std::uint64_t slack = std::uint64_t{64} << 10;
// The most bytes an entry takes beyond its value in any encoding: two bytes for each of its two levels in runs of one,
// and eight for lengths, where values are stored with them.
constexpr std::uint64_t entry_overhead = 12;
// Arrow writes the whole dictionary of a column of type dictionary with each row group, whatever the group uses of it.
constexpr std::uint64_t common_dictionary_bytes = std::uint64_t{16} << 20;

// Writers begin a new page after a megabyte, but a text is never divided.
constexpr std::uint64_t most_text_page_bytes = std::uint64_t{1} << 30;

// Fields of a page's header, as parquet.thrift numbers them. One of the last three is used, by the page's kind.
constexpr std::int16_t type_field = 1;
constexpr std::int16_t uncompressed_field = 2;
constexpr std::int16_t compressed_field = 3;
constexpr std::int16_t checksum_field = 4;
constexpr std::int16_t data_field = 5;
constexpr std::int16_t dictionary_field = 7;
constexpr std::int16_t data_v2_field = 8;

class HeaderVisitor final : public ThriftVisitor {
 public:
  void on_i32(Path path, std::int32_t value) override {
    if (path.size() == 1) return on_own(path[0], value);
    if (path.size() != 2) return;
    if (path[0] == data_field && path[1] == 1) entries_ = value;
    if (path[0] == dictionary_field && path[1] == 1) dictionary_entries_ = value;
    if (path[0] == data_v2_field) on_v2(path[1], value);
  }

  PageHeader finish(std::size_t size) const {
    PageHeader header = header_;
    header.size = size;
    if (header.kind == PageHeader::Kind::data) header.entries = entries_;
    if (header.kind == PageHeader::Kind::dictionary) header.entries = dictionary_entries_;
    return header;
  }

 private:
  void on_own(std::int16_t field, std::int32_t value) {
    if (field == type_field) header_.kind = kind(value);
    if (field == uncompressed_field) header_.uncompressed = value;
    if (field == compressed_field) header_.compressed = value;
    if (field == checksum_field) header_.has_checksum = true;
  }

  void on_v2(std::int16_t field, std::int32_t value) {
    if (field == 1) header_.entries = value;
    if (field == 3) header_.rows = value;
    if (field == 5) header_.definition_bytes = value;
    if (field == 6) header_.repetition_bytes = value;
  }

  static PageHeader::Kind kind(std::int32_t type) {
    switch (type) {
      case 0:
        return PageHeader::Kind::data;
      case 2:
        return PageHeader::Kind::dictionary;
      case 3:
        return PageHeader::Kind::data_v2;
      default:
        return PageHeader::Kind::other;
    }
  }

  PageHeader header_;
  std::int64_t entries_ = 0;
  std::int64_t dictionary_entries_ = 0;
};

/// The checks of one chunk, page after page.
class PageCheck {
 public:
  PageCheck(std::span<const std::uint8_t> bytes, const ColumnChunk& chunk) : rest_(bytes), chunk_(chunk) {}

  void run() {
    while (seen_ < chunk_.entries) {
      if (rest_.empty()) {
        throw std::runtime_error(
            fmt::format("its pages hold {} entries, and the footer says {}", seen_, chunk_.entries));
      }
      check_next();
      ++page_;
    }
  }

 private:
  void check_next() {
    PageHeader header;
    try {
      header = read_page_header(rest_);
    } catch (const BadThrift& bad) {
      refuse(bad.what());
    }
    rest_ = rest_.subspan(header.size);
    if (header.uncompressed < 0 || header.compressed < 0 || header.entries < 0) refuse("has a negative size");
    if (static_cast<std::uint64_t>(header.compressed) > rest_.size()) {
      refuse(fmt::format("says {} bytes, and {} are left in its column", header.compressed, rest_.size()));
    }
    if (!chunk_.is_compressed && header.compressed != header.uncompressed) {
      refuse(fmt::format("is not compressed, and says {} bytes and {} bytes", header.compressed, header.uncompressed));
    }
    if (header.kind == PageHeader::Kind::dictionary) check_dictionary(header);
    if (header.kind == PageHeader::Kind::data || header.kind == PageHeader::Kind::data_v2) check_data(header);
    rest_ = rest_.subspan(static_cast<std::size_t>(header.compressed));
  }

  void check_data(const PageHeader& header) {
    const auto entries = static_cast<std::uint64_t>(header.entries);
    if (entries > chunk_.entries - seen_) {
      refuse(fmt::format("holds {} entries, and {} are left of those that the footer says", entries,
                         chunk_.entries - seen_));
    }
    require_size(header, slack + entries * (chunk_.value_bytes + entry_overhead));
    if (header.kind == PageHeader::Kind::data_v2) check_levels(header);
    seen_ += entries;
  }

  void check_levels(const PageHeader& header) const {
    const std::int64_t levels = header.repetition_bytes + header.definition_bytes;
    if (header.repetition_bytes < 0 || header.definition_bytes < 0 || levels > header.compressed ||
        levels > header.uncompressed) {
      refuse("has levels that are longer than the page");
    }
    if (header.rows < 0 || header.rows > header.entries || static_cast<std::uint64_t>(header.rows) > chunk_.rows) {
      refuse(fmt::format("says {} rows in {} entries", header.rows, header.entries));
    }
  }

  void check_dictionary(const PageHeader& header) const {
    const auto entries = static_cast<std::uint64_t>(header.entries);
    if (entries > static_cast<std::uint64_t>(header.uncompressed) / chunk_.value_bytes) {
      refuse(fmt::format("says a dictionary of {} values in {} bytes", entries, header.uncompressed));
    }
    require_size(header, slack + entries * chunk_.value_bytes);
    require_size(header, std::max(common_dictionary_bytes, slack + chunk_.entries * chunk_.value_bytes));
  }

  void require_size(const PageHeader& header, std::uint64_t most) const {
    if (chunk_.is_text) most = most_text_page_bytes;
    if (static_cast<std::uint64_t>(header.uncompressed) <= most) return;
    refuse(fmt::format("says {} bytes, and its {} entries take at most {}", header.uncompressed, header.entries, most));
  }

  [[noreturn]] void refuse(const std::string& how) const {
    throw std::runtime_error(fmt::format("page {} {}", page_, how));
  }

  std::span<const std::uint8_t> rest_;
  ColumnChunk chunk_;
  std::uint64_t seen_ = 0;  ///< entries
  std::size_t page_ = 0;
};

}  // namespace

PageHeader read_page_header(std::span<const std::uint8_t> bytes) {
  HeaderVisitor visitor;
  return visitor.finish(scan_thrift(bytes, visitor));
}

void check_pages(std::span<const std::uint8_t> bytes, const ColumnChunk& chunk) { PageCheck(bytes, chunk).run(); }

}  // namespace attention_plasticity
