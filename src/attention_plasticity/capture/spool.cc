#include "attention_plasticity/capture/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/dump/file_bytes.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {

struct Spool::Header {
  std::array<char, 4> magic{'A', 'P', 'c', '1'};
  std::uint32_t is_end = 0;
  std::uint64_t document = 0;
  std::uint64_t length = 0;  // of the document, where it ends
  std::uint32_t layer = 0;
  ElementType type = ElementType::float32;
  std::uint32_t q_heads = 0;
  std::uint32_t k_heads = 0;
  std::uint64_t q_rows = 0;
  std::uint64_t k_rows = 0;
  std::uint64_t width = 0;

  std::uint64_t payload() const { return (q_heads * q_rows + k_heads * k_rows) * width * element_bytes(type); }
  std::uint64_t size() const;
};

namespace {

constexpr std::size_t digest_size = 32;
// Read at once when a file is checked.
constexpr std::size_t piece = std::size_t{4} << 20U;

std::span<const std::uint8_t> octets(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

std::string_view chars(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void read_at(const Descriptor& file, const std::filesystem::path& path, std::uint64_t offset,
             std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t count = ::pread(file.number(), out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_output(path, "read this file", errno);
    if (count == 0) throw Error(ErrorKind::output, "the file has become shorter while it was read", path.string());
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

}  // namespace

std::uint64_t Spool::Header::size() const { return sizeof(Header) + payload() + digest_size; }

Spool::Spool(std::filesystem::path file) : path_(std::move(file)), file_(path_, O_RDWR | O_CREAT | O_APPEND, path_) {
  scan();
}

void Spool::scan() {
  struct stat status{};
  if (::fstat(file_.number(), &status) != 0) fail_output(path_, "look at this file", errno);
  const auto end = static_cast<std::uint64_t>(status.st_size);
  while (const std::optional<Header> header = whole_record(size_, end)) {
    if (header->is_end != 0) {
      finished_[header->document] = header->length;
    } else {
      layers_[{header->document, static_cast<int>(header->layer)}] = {
          header->type,   header->width,  header->q_heads,       header->k_heads,
          header->q_rows, header->k_rows, size_ + sizeof(Header)};
    }
    size_ += header->size();
  }
  if (size_ != end && ::ftruncate(file_.number(), static_cast<off_t>(size_)) != 0) {
    fail_output(path_, "cut off what is not whole", errno);
  }
  std::erase_if(layers_, [&](const auto& layer) { return !finished_.contains(layer.first.first); });
}

// None when there is no whole record at `offset` of a file of `size` bytes.
std::optional<Spool::Header> Spool::whole_record(std::uint64_t offset, std::uint64_t size) const {
  Header header;
  const std::uint64_t left = size - offset;
  if (left < sizeof(Header)) return std::nullopt;
  read_at(file_, path_, offset, std::as_writable_bytes(std::span(&header, 1)));
  constexpr std::uint64_t most = std::uint64_t{1} << 31U;  // keeps the sizes below 2^64
  const bool plausible = header.magic == Header().magic && header.type <= ElementType::bfloat16 &&
                         std::max({header.q_rows, header.k_rows}) < most && header.width < 65537 &&
                         std::max(header.q_heads, header.k_heads) < 65537 && header.size() <= left;
  if (!plausible) return std::nullopt;
  FileDigest digest;
  digest.add(octets(std::as_bytes(std::span(&header, 1))));
  std::vector<std::byte> bytes(std::min<std::uint64_t>(piece, header.payload()));
  const std::uint64_t begin = offset + sizeof(Header);
  for (std::uint64_t done = 0; done < header.payload();) {
    const std::span<std::byte> part(bytes.data(), std::min<std::uint64_t>(piece, header.payload() - done));
    read_at(file_, path_, begin + done, part);
    digest.add(octets(part));
    done += part.size();
  }
  std::array<std::byte, digest_size> written{};
  read_at(file_, path_, begin + header.payload(), written);
  if (chars(written) != digest.finish()) return std::nullopt;
  return header;
}

void Spool::append(const Header& header, const TensorView* queries, const TensorView* keys) {
  FileDigest digest;
  const auto write = [&](std::span<const std::byte> bytes) {
    digest.add(octets(bytes));
    file_.write(chars(bytes));
  };
  try {
    write(std::as_bytes(std::span(&header, 1)));
    for (const TensorView* tensor : {queries, keys}) {
      if (tensor == nullptr) continue;
      std::vector<std::byte> scratch(head_bytes(*tensor));
      for (std::size_t head = 0; head < tensor->heads(); ++head) write(head_vectors(*tensor, head, scratch));
    }
    file_.write(digest.finish());
  } catch (...) {
    // Otherwise the next record would stand behind one that is not whole, and be cut off with it.
    if (::ftruncate(file_.number(), static_cast<off_t>(size_)) != 0) file_.close_quietly();
    throw;
  }
  size_ += header.size();
}

void Spool::add(std::uint64_t document, int layer, const TensorView& queries, const TensorView& keys) {
  Header header;
  header.document = document;
  header.layer = static_cast<std::uint32_t>(layer);
  header.type = queries.type;
  header.q_heads = static_cast<std::uint32_t>(queries.heads());
  header.k_heads = static_cast<std::uint32_t>(keys.heads());
  header.q_rows = queries.tokens();
  header.k_rows = keys.tokens();
  header.width = queries.width();
  const std::uint64_t payload = size_ + sizeof(Header);
  append(header, &queries, &keys);
  layers_[{document, layer}] = {queries.type,     queries.width(), queries.heads(), keys.heads(),
                                queries.tokens(), keys.tokens(),   payload};
}

void Spool::end(std::uint64_t document, std::size_t length) {
  Header header;
  header.is_end = 1;
  header.document = document;
  header.length = length;
  append(header, nullptr, nullptr);
  file_.sync();
  finished_[document] = length;
}

const SpooledLayer* Spool::find(std::uint64_t document, int layer) const {
  const auto found = layers_.find({document, layer});
  return found == layers_.end() ? nullptr : &found->second;
}

void Spool::read(const SpooledLayer& layer, Side side, std::size_t head, std::span<float> out) const {
  const std::size_t bytes_of_row = layer.width * element_bytes(layer.type);
  const std::size_t rows = side == Side::query ? layer.q_rows : layer.k_rows;
  std::uint64_t offset = layer.payload + head * rows * bytes_of_row;
  if (side == Side::key) offset += layer.q_heads * layer.q_rows * bytes_of_row;
  if (layer.type == ElementType::float32) {
    read_at(file_, path_, offset, std::as_writable_bytes(out));
    return;
  }
  std::vector<std::byte> bytes(rows * bytes_of_row);
  read_at(file_, path_, offset, bytes);
  widen_elements(bytes, layer.type, out);
}

}  // namespace attention_plasticity
