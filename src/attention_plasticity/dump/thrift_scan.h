#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

// Parquet writes its footer and the headers of its pages in Thrift's compact protocol. This scan walks over such bytes
// without building anything: in one loop, with a stack of fixed size. What a file says can then be looked at before a
// reader acts on it.

namespace attention_plasticity {

/// Thrown for bytes that are no Thrift struct, or beyond a limit. The text continues "the footer ..." or alike.
struct BadThrift : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a scan meets, by its path: the numbers of the fields that lead to it. Elements of a list have the path of the
/// list.
class ThriftVisitor {
 public:
  using Path = std::span<const std::int16_t>;

  ThriftVisitor() = default;
  ThriftVisitor(const ThriftVisitor&) = delete;
  ThriftVisitor& operator=(const ThriftVisitor&) = delete;
  virtual ~ThriftVisitor() = default;

  virtual void on_i32(Path /*path*/, std::int32_t /*value*/) {}
  virtual void on_i64(Path /*path*/, std::int64_t /*value*/) {}
  virtual void on_bool(Path /*path*/, bool /*value*/) {}
  virtual void on_struct(Path /*path*/) {}                        ///< before its fields
  virtual void on_list(Path /*path*/, std::uint64_t /*size*/) {}  ///< lists, sets and maps, before their elements
};

/// Walks over one struct at the beginning of `bytes`, and returns its length in bytes. Throws BadThrift, and what the
/// visitor throws. Structs and lists may be nested 24 deep; Parquet's own reach 8.
std::size_t scan_thrift(std::span<const std::uint8_t> bytes, ThriftVisitor& visitor);

}  // namespace attention_plasticity
