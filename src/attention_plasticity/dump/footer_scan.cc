#include "attention_plasticity/dump/footer_scan.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace attention_plasticity {
namespace {

// Structs and lists of a footer are nested 8 deep.
constexpr std::size_t deepest = 24;

// Numbers of fields, from parquet.thrift.
constexpr std::int64_t schema_field = 2;
constexpr std::int64_t row_groups_field = 4;
constexpr std::int64_t columns_field = 1;  // of a row group
constexpr std::int64_t uncompressed_field = 2;
constexpr std::int64_t checksum_field = 4;

// Memory of one element of a list, somewhat more than Arrow 22 takes.
constexpr std::uint64_t schema_memory = 320;
constexpr std::uint64_t row_group_memory = 256;
constexpr std::uint64_t column_memory = 1536;
constexpr std::uint64_t other_memory = 112;  // the largest is a pair of strings with their flags

// The types of the compact protocol.
enum Type : std::uint8_t {
  stop = 0,
  yes = 1,  // a field of type bool holds its value here
  no = 2,
  i8 = 3,
  i16 = 4,
  i32 = 5,
  i64 = 6,
  real = 7,
  binary = 8,
  list = 9,
  set = 10,
  map = 11,
  structure = 12,
  uuid = 13,
};

/// The bytes that are still to be read.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  std::size_t left() const { return rest_.size(); }
  std::uint8_t next() {
    skip(1);
    return *(rest_.data() - 1);
  }
  void skip(std::uint64_t count) {
    if (count > left()) throw BadThrift("ends early");
    rest_ = rest_.subspan(static_cast<std::size_t>(count));
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = next();
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80U) return value;
    }
    throw BadThrift("holds a number that is too long");
  }
  std::int64_t zigzag() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>((value >> 1U) ^ (0U - (value & 1U)));
  }

 private:
  std::span<const std::uint8_t> rest_;
};

struct Field {
  std::int64_t number = 0;
  std::uint8_t type = stop;
};

Field next_field(Bytes& bytes, std::int64_t number_before) {
  const std::uint8_t header = bytes.next();
  const auto type = static_cast<std::uint8_t>(header & 0x0FU);
  if (header == stop) return {0, stop};
  const unsigned step = header >> 4U;
  return {step > 0 ? number_before + step : bytes.zigzag(), type};
}

/// Walks over a footer by recursion of a limited depth, and adds up the memory of its lists.
class FooterScan {
 public:
  explicit FooterScan(std::span<const std::uint8_t> footer) : bytes_(footer) {}

  std::uint64_t run() {
    skip_struct();
    return memory_;
  }

 private:
  void skip_struct() {
    enter();
    for (Field field = next_field(bytes_, 0); field.type != stop; field = next_field(bytes_, field.number)) {
      path_[depth_ - 1] = field.number;
      if (field.type != yes && field.type != no) skip_value(field.type);
    }
    --depth_;
  }

  void skip_value(std::uint8_t type) {
    switch (type) {
      case yes:
      case no:
      case i8:
        return bytes_.skip(1);
      case i16:
      case i32:
      case i64:
        bytes_.varint();
        return;
      case real:
        return bytes_.skip(8);
      case binary:
        return bytes_.skip(bytes_.varint());
      case list:
      case set:
        return skip_list();
      case map:
        return skip_map();
      case structure:
        return skip_struct();
      case uuid:
        return bytes_.skip(16);
      default:
        throw BadThrift("holds a field of an unknown type");
    }
  }

  void skip_list() {
    const std::uint8_t header = bytes_.next();
    const std::uint64_t size = header >> 4U == 15U ? bytes_.varint() : header >> 4U;
    count_elements(size);
    skip_elements(size, static_cast<std::uint8_t>(header & 0x0FU), stop);
  }

  void skip_map() {
    const std::uint64_t size = bytes_.varint();
    if (size == 0) return;
    const std::uint8_t types = bytes_.next();
    count_elements(size);
    skip_elements(size, types >> 4U, static_cast<std::uint8_t>(types & 0x0FU));
  }

  /// `value_type`: of a map; `stop` for lists.
  void skip_elements(std::uint64_t size, std::uint8_t type, std::uint8_t value_type) {
    enter();
    path_[depth_ - 1] = 0;
    for (; size > 0; --size) {
      skip_value(type);
      if (value_type != stop) skip_value(value_type);
    }
    --depth_;
  }

  void enter() {
    if (depth_ == deepest) throw BadThrift("is nested too deeply");
    ++depth_;
  }

  void count_elements(std::uint64_t size) {
    // Every element takes a byte at least.
    if (size > bytes_.left()) throw BadThrift("holds a list of more elements than bytes");
    const bool is_schema = depth_ == 1 && path_[0] == schema_field;
    const bool is_groups = depth_ == 1 && path_[0] == row_groups_field;
    // Between them is the list of row groups itself.
    const bool is_columns = depth_ == 3 && path_[0] == row_groups_field && path_[2] == columns_field;
    if (is_schema && size > max_schema_elements) {
      throw BeyondLimit(fmt::format("the footer has {} columns and groups of columns, and at most {} are read", size,
                                    max_schema_elements));
    }
    memory_ += size * (is_schema    ? schema_memory
                       : is_groups  ? row_group_memory
                       : is_columns ? column_memory
                                    : other_memory);
    if (memory_ > max_footer_memory) {
      throw BeyondLimit(
          fmt::format("the footer would take more than {} bytes of memory, and at most {} are used for it", memory_,
                      max_footer_memory));
    }
  }

  Bytes bytes_;
  std::array<std::int64_t, deepest> path_{};  // the numbers of the fields that lead here; 0 for elements of a list
  std::size_t depth_ = 0;
  std::uint64_t memory_ = 0;
};

}  // namespace

std::uint64_t scan_footer(std::span<const std::uint8_t> footer) {
  if (footer.size() > max_footer_bytes) {
    throw BeyondLimit(fmt::format("the footer has {} bytes, and at most {} are read", footer.size(), max_footer_bytes));
  }
  return FooterScan(footer).run() + 2 * footer.size();
}

PageStart read_page_start(std::span<const std::uint8_t> page) {
  // Fields 1 to 4 are numbers: the type, the size before and after compression, and a checksum, which may be missing.
  PageStart start;
  Bytes bytes(page);
  for (Field field = next_field(bytes, 0); field.type == i32 && field.number <= checksum_field;
       field = next_field(bytes, field.number)) {
    const std::int64_t value = bytes.zigzag();
    if (field.number == uncompressed_field) start.uncompressed_bytes = value;
    if (field.number == checksum_field) start.has_checksum = true;
  }
  return start;
}

}  // namespace attention_plasticity
