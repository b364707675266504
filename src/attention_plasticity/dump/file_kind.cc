#include "attention_plasticity/dump/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/dump/input_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

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

}  // namespace attention_plasticity
