#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "attention_plasticity/base/descriptor.h"
#include "attention_plasticity/capture/tensor_view.h"
#include "attention_plasticity/dump/layout.h"

// Where captured vectors wait until a dump is written from them: one file that only grows, so that a capture of any
// number of heads holds one open file and nothing in memory.
//
//   record   header, payload, digest (XXH3, 32 hexadecimal digits) of both
//   layer    the vectors of a document's layer: those of each query head, then those of each key head, row after row
//   end      the document is whole; no payload
//
// Numbers are in the byte order of the machine. Records of several documents may mix. A record that is not whole, and
// all after it, are cut off when the file is opened again; documents without their end are forgotten.

namespace attention_plasticity {

/// The vectors of one document's layer in the file.
struct SpooledLayer {
  ElementType type = ElementType::float32;
  std::size_t width = 0;
  std::size_t q_heads = 0;
  std::size_t k_heads = 0;
  std::size_t q_rows = 0;
  std::size_t k_rows = 0;
  std::uint64_t payload = 0;  ///< offset in the file
};

/// The file. Members throw Error(output), which names it. Reading is safe for several threads at once.
class Spool {
 public:
  /// Opens the file, or creates it.
  explicit Spool(std::filesystem::path file);

  /// Appends the vectors of a layer of a document. The two tensors have one type and width. When it throws, the file
  /// is as it was before. Numbers that are not finite are the caller's to refuse.
  void add(std::uint64_t document, int layer, const TensorView& queries, const TensorView& keys);
  /// The document is whole, and stays so whatever happens to process or machine.
  void end(std::uint64_t document, std::size_t length);

  /// The lengths of the documents that are whole, by number.
  const std::map<std::uint64_t, std::size_t>& finished() const { return finished_; }
  /// None when there is no such layer.
  const SpooledLayer* find(std::uint64_t document, int layer) const;
  /// The vectors of one head of a layer, the `head`-th that was added of its side, as floats.
  void read(const SpooledLayer& layer, Side side, std::size_t head, std::span<float> out) const;

 private:
  struct Header;

  void scan();
  std::optional<Header> whole_record(std::uint64_t offset, std::uint64_t size) const;
  void append(const Header& header, const TensorView* queries, const TensorView* keys);

  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
  std::map<std::uint64_t, std::size_t> finished_;
  std::map<std::pair<std::uint64_t, int>, SpooledLayer> layers_;
};

}  // namespace attention_plasticity
