#include "attention_plasticity/base/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const fs::path& file, const std::string& problem) {
  throw Error(ErrorKind::input, problem, file.string());
}

[[noreturn]] void refuse_reading(const fs::path& file, int error) {
  if (error == EACCES || error == EPERM) refuse(file, "cannot be read; check its permissions");
  refuse(file, fmt::format("cannot be read: {}", std::generic_category().message(error)));
}

class Opened {
 public:
  explicit Opened(const fs::path& file) : file_(file) {
    // Looked at before it is opened, since opening some devices does something.
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) refuse(file, "there is no such file");
      refuse_reading(file, errno);
    }
    require_regular(status);
    do {
      // Without O_NONBLOCK, opening a pipe that took the place of the file would wait for a writer.
      descriptor_ =
          ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    } while (descriptor_ < 0 && errno == EINTR);
    if (descriptor_ < 0) refuse_reading(file, errno);
  }
  ~Opened() { ::close(descriptor_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  std::uint64_t size() const {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) refuse_reading(file_, errno);
    require_regular(status);
    return static_cast<std::uint64_t>(status.st_size);
  }

  /// The number of bytes that were read; 0 at the end.
  std::size_t read(char* out, std::size_t most) const {
    while (true) {
      const ssize_t got = ::read(descriptor_, out, most);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) refuse_reading(file_, errno);
    }
  }

 private:
  void require_regular(const struct stat& status) const {
    if (S_ISDIR(status.st_mode)) refuse(file_, "is a folder and should be a file");
    if (!S_ISREG(status.st_mode)) refuse(file_, "is a pipe, a device or the like, and should be a file");
  }

  const fs::path& file_;
  int descriptor_ = -1;
};

}  // namespace

std::string too_large_text(std::uint64_t most_bytes) {
  return fmt::format("is larger than {}, too large for a file of this kind", size_text(most_bytes));
}

std::string read_file_bytes(const fs::path& file, std::uint64_t most_bytes) {
  const Opened opened(file);
  const std::uint64_t size = opened.size();
  const auto refuse_size = [&] { refuse(file, too_large_text(most_bytes)); };
  if (size > most_bytes) refuse_size();
  std::string content;
  // One byte more, to see the end. Files of the kernel have a size of 0 and content.
  constexpr std::size_t least = 4096;
  std::size_t filled = 0;
  while (true) {
    content.resize(std::max<std::size_t>({least, static_cast<std::size_t>(size) + 1, filled + filled / 2}));
    const std::size_t got = opened.read(content.data() + filled, content.size() - filled);
    if (got == 0) break;
    filled += got;
    if (filled > most_bytes) refuse_size();
  }
  content.resize(filled);
  return content;
}

void read_file_pieces(const fs::path& file, const std::function<bool(std::string_view)>& sink) {
  const Opened opened(file);
  opened.size();  // checks once more what was opened
  std::string piece(std::size_t{1} << 16U, '\0');
  while (const std::size_t got = opened.read(piece.data(), piece.size())) {
    if (!sink(std::string_view(piece).substr(0, got))) return;
  }
}

std::string read_text_file(const fs::path& file, std::uint64_t most_bytes) {
  std::string text = read_file_bytes(file, most_bytes);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

}  // namespace attention_plasticity
