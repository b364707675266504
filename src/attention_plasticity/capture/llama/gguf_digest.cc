#include "attention_plasticity/capture/llama/gguf_digest.h"

#include <gguf.h>
#include <llama.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

// Of a tensor, evenly spaced, with its first and last bytes.
constexpr std::uint64_t blocks = 8;
constexpr std::uint64_t block_bytes = 4096;

struct Free {
  void operator()(gguf_context* header) const { gguf_free(header); }
};
using Header = std::unique_ptr<gguf_context, Free>;

class PartReader {
 public:
  PartReader(const fs::path& file, Digest& digest)
      : file_(file), stream_(file, std::ios::binary), digest_(digest), bytes_(block_bytes, '\0') {}

  void add(std::uint64_t first, std::uint64_t count) {
    stream_.seekg(static_cast<std::streamoff>(first));
    for (std::uint64_t left = count; left > 0;) {
      const std::uint64_t now = std::min(left, block_bytes);
      if (!stream_.read(bytes_.data(), static_cast<std::streamsize>(now))) {
        throw Error(ErrorKind::input, "this GGUF file cannot be read to its end", file_.string());
      }
      digest_.add(std::string_view(bytes_).substr(0, now));
      left -= now;
    }
  }

  void add_some(std::uint64_t first, std::uint64_t count) {
    if (count <= blocks * block_bytes) return add(first, count);
    for (std::uint64_t i = 0; i < blocks; ++i) add(first + (count - block_bytes) / (blocks - 1) * i, block_bytes);
  }

 private:
  const fs::path& file_;
  std::ifstream stream_;
  Digest& digest_;
  std::string bytes_;
};

Header header_of(const fs::path& file) {
  Header header(gguf_init_from_file(file.c_str(), {true, nullptr}));
  if (!header) throw Error(ErrorKind::input, "the header of this GGUF file cannot be read", file.string());
  return header;
}

void add_part(const fs::path& file, const gguf_context* header, Digest& digest) {
  PartReader reader(file, digest);
  const std::uint64_t data = gguf_get_data_offset(header);
  reader.add(0, data);
  for (std::int64_t i = 0; i < gguf_get_n_tensors(header); ++i) {
    reader.add_some(data + gguf_get_tensor_offset(header, i), gguf_get_tensor_size(header, i));
  }
}

int number_of_parts(const gguf_context* header) {
  const std::int64_t id = gguf_find_key(header, "split.count");
  return id >= 0 && gguf_get_kv_type(header, id) == GGUF_TYPE_UINT16 ? gguf_get_val_u16(header, id) : 1;
}

// As libllama finds it beside the first one.
fs::path part_of(const fs::path& first, int part, int parts) {
  std::vector<char> prefix(first.string().size() + 1);
  std::vector<char> path(prefix.size() + 32);
  llama_split_prefix(prefix.data(), prefix.size(), first.c_str(), 0, parts);
  llama_split_path(path.data(), path.size(), prefix.data(), part, parts);
  return path.data();
}

}  // namespace

std::string gguf_digest(const fs::path& file) {
  Digest digest(DigestKind::sha256);
  const Header first = header_of(file);
  add_part(file, first.get(), digest);
  const int parts = number_of_parts(first.get());
  for (int part = 1; part < parts; ++part) {
    const fs::path other = part_of(file, part, parts);
    add_part(other, header_of(other).get(), digest);
  }
  return digest.finish();
}

}  // namespace attention_plasticity
