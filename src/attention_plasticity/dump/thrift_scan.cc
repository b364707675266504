#include "attention_plasticity/dump/thrift_scan.h"

#include <array>
#include <limits>

namespace attention_plasticity {
namespace {

constexpr std::size_t deepest = 24;

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

class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }

  std::uint8_t next() {
    if (left() == 0) throw BadThrift("ends early");
    return bytes_[position_++];
  }
  void skip(std::uint64_t count) {
    if (count > left()) throw BadThrift("ends early");
    position_ += static_cast<std::size_t>(count);
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
  /// Thrift keeps the lower half of a number that is too long.
  std::int32_t zigzag32() {
    const auto value = static_cast<std::uint32_t>(varint());
    return static_cast<std::int32_t>((value >> 1U) ^ (0U - (value & 1U)));
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t position_ = 0;
};

/// A struct, or a list whose elements are still to come.
struct Frame {
  bool is_struct = true;
  std::uint8_t element = stop;  ///< type of the elements; of a map, of its keys
  std::uint8_t other = stop;    ///< of a map, the type of its values; else `stop`
  std::uint64_t elements_left = 0;
  std::size_t path = 0;  ///< length of the path to its fields or elements
};

class Scan {
 public:
  Scan(std::span<const std::uint8_t> bytes, ThriftVisitor& visitor) : bytes_(bytes), visitor_(visitor) {}

  std::size_t run() {
    begin_struct();
    while (depth_ > 0) {
      if (frames_[depth_ - 1].is_struct) {
        next_field();
      } else {
        next_element();
      }
    }
    return bytes_.position();
  }

 private:
  ThriftVisitor::Path path() const { return {path_.data(), path_length_}; }

  Frame& push() {
    if (depth_ == deepest) throw BadThrift("is nested too deeply");
    frames_[depth_] = {};
    return frames_[depth_++];
  }

  void begin_struct() {
    visitor_.on_struct(path());
    Frame& frame = push();
    path_[path_length_++] = 0;
    frame.path = path_length_;
  }

  void next_field() {
    const Frame& frame = frames_[depth_ - 1];
    path_length_ = frame.path;
    const std::uint8_t header = bytes_.next();
    if (header == stop) {
      --depth_;
      path_length_ = frame.path - 1;
      return;
    }
    std::int16_t& id = path_[path_length_ - 1];
    const unsigned step = header >> 4U;
    const std::int64_t next = step > 0 ? std::int64_t{id} + step : bytes_.zigzag();
    if (next < std::numeric_limits<std::int16_t>::min() || next > std::numeric_limits<std::int16_t>::max()) {
      throw BadThrift("holds a field of an impossible number");
    }
    id = static_cast<std::int16_t>(next);
    const std::uint8_t type = header & 0x0FU;
    if (type == yes || type == no) return visitor_.on_bool(path(), type == yes);
    take(type);
  }

  void next_element() {
    Frame& frame = frames_[depth_ - 1];
    path_length_ = frame.path;
    if (frame.elements_left == 0) {
      --depth_;
      return;
    }
    --frame.elements_left;
    std::uint8_t type = frame.element;
    if (frame.other != stop && frame.elements_left % 2 == 0) type = frame.other;
    if (type == yes || type == no) return bytes_.skip(1);
    take(type);
  }

  void take(std::uint8_t type) {
    switch (type) {
      case i8:
        return bytes_.skip(1);
      case i16:
        bytes_.zigzag();
        return;
      case i32:
        return visitor_.on_i32(path(), bytes_.zigzag32());
      case i64:
        return visitor_.on_i64(path(), bytes_.zigzag());
      case real:
        return bytes_.skip(8);
      case binary:
        return bytes_.skip(bytes_.varint());
      case list:
      case set:
        return begin_list();
      case map:
        return begin_map();
      case structure:
        return begin_struct();
      case uuid:
        return bytes_.skip(16);
      default:
        throw BadThrift("holds a field of an unknown type");
    }
  }

  void begin_list() {
    const std::uint8_t header = bytes_.next();
    const std::uint64_t size = header >> 4U == 15U ? bytes_.varint() : header >> 4U;
    begin_elements(size, size, static_cast<std::uint8_t>(header & 0x0FU), stop);
  }

  void begin_map() {
    const std::uint64_t size = bytes_.varint();
    if (size == 0) return;
    const std::uint8_t types = bytes_.next();
    if ((types & 0x0FU) == stop) throw BadThrift("holds a field of an unknown type");
    begin_elements(size, 2 * size, types >> 4U, static_cast<std::uint8_t>(types & 0x0FU));
  }

  void begin_elements(std::uint64_t size, std::uint64_t elements, std::uint8_t element, std::uint8_t other) {
    // Every element takes a byte at least, so a size beyond the bytes that are left is a lie.
    if (size > bytes_.left()) throw BadThrift("holds a list of more elements than bytes");
    visitor_.on_list(path(), size);
    Frame& frame = push();
    frame.is_struct = false;
    frame.element = element;
    frame.other = other;
    frame.elements_left = elements;
    frame.path = path_length_;
  }

  Bytes bytes_;
  ThriftVisitor& visitor_;
  std::array<Frame, deepest> frames_{};
  std::size_t depth_ = 0;
  std::array<std::int16_t, deepest> path_{};
  std::size_t path_length_ = 0;
};

}  // namespace

std::size_t scan_thrift(std::span<const std::uint8_t> bytes, ThriftVisitor& visitor) {
  return Scan(bytes, visitor).run();
}

}  // namespace attention_plasticity
