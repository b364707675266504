#include "attention_plasticity/dump/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "attention_plasticity/base/text.h"
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

std::string reason(int error_number) { return std::generic_category().message(error_number); }

constexpr const char* no_permission = "no permission to read the file; change its permissions or those of its folder";

void require_regular_file(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) {
    refuse(file, fs::is_symlink(fs::symlink_status(file, error))
                     ? "the file is a broken link; download or capture this head again"
                     : "the file does not exist; download or capture this head again");
  }
  if (error == std::errc::permission_denied) refuse(file, no_permission);
  if (!fs::status_known(status)) refuse(file, fmt::format("the file cannot be read: {}", error.message()));
  if (fs::is_directory(status)) refuse(file, "this is a folder, a Parquet file is needed; capture this head again");
  if (!fs::is_regular_file(status)) refuse(file, "this is not a regular file, a Parquet file is needed");
}

struct Ends {
  std::uint64_t size = 0;
  std::string first;  ///< up to 512 bytes
  std::string last;   ///< up to 4
};

Ends read_ends(const fs::path& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (!stream) {
    const int error_number = errno;
    refuse(file, error_number == EACCES || error_number == EPERM
                     ? no_permission
                     : fmt::format("the file cannot be opened: {}", reason(error_number)));
  }
  Ends ends;
  std::array<char, 512> buffer{};
  ends.first.assign(buffer.data(), std::fread(buffer.data(), 1, buffer.size(), stream.get()));
  if (std::ferror(stream.get()) != 0 || std::fseek(stream.get(), 0, SEEK_END) != 0) {
    refuse(file, fmt::format("the file cannot be read: {}", reason(errno)));
  }
  const long size = std::ftell(stream.get());
  if (size < 0) refuse(file, fmt::format("the file cannot be read: {}", reason(errno)));
  ends.size = static_cast<std::uint64_t>(size);
  const std::size_t tail = std::min<std::size_t>(magic.size(), ends.size);
  if (std::fseek(stream.get(), -static_cast<long>(tail), SEEK_END) != 0) {
    refuse(file, fmt::format("the file cannot be read: {}", reason(errno)));
  }
  ends.last.assign(buffer.data(), std::fread(buffer.data(), 1, tail, stream.get()));
  return ends;
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

}  // namespace

std::uint64_t require_parquet(const fs::path& file) {
  require_regular_file(file);
  const Ends ends = read_ends(file);
  if (ends.size == 0) refuse(file, "the file is empty; download or capture this head again");
  if (ends.first.starts_with("version https://git-lfs")) {
    refuse(file, "this is a Git LFS pointer, not the data it stands for; run `git lfs pull` in the dump's folder");
  }
  if (looks_like_html(ends.first)) {
    refuse(file, "this is an HTML page, not a Parquet file: the download went wrong; download this head again");
  }
  refuse_archive(file, ends.first);
  if (ends.first.starts_with(encrypted_magic)) {
    refuse(file, "this Parquet file is encrypted; write the dump without encryption");
  }
  const bool starts_well = ends.first.starts_with(magic) || magic.starts_with(ends.first);
  if (!starts_well) refuse(file, "this is not a Parquet file; download or capture this head again");
  if (ends.size < smallest_parquet || ends.last != magic) {
    refuse(file, fmt::format("the Parquet file is truncated: it ends after {} bytes without its footer; download or "
                             "capture this head again",
                             ends.size));
  }
  return ends.size;
}

}  // namespace attention_plasticity
