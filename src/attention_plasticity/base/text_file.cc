#include "attention_plasticity/base/text_file.h"

#include <fstream>
#include <sstream>
#include <system_error>

#include "attention_plasticity/error.h"

namespace attention_plasticity {

namespace fs = std::filesystem;

std::string read_file_bytes(const fs::path& file) {
  std::error_code unknown;
  const fs::file_status status = fs::status(file, unknown);
  if (!fs::exists(status)) throw Error(ErrorKind::input, "there is no such file", file.string());
  if (fs::is_directory(status)) throw Error(ErrorKind::input, "is a folder and should be a file", file.string());
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;
  // Copying an empty file would put `content` into a failed state, although nothing failed.
  if (stream && stream.peek() != std::ifstream::traits_type::eof()) content << stream.rdbuf();
  if (!stream.is_open() || stream.bad() || content.bad()) {
    throw Error(ErrorKind::input, "cannot be read; check its permissions", file.string());
  }
  return std::move(content).str();
}

std::string read_text_file(const fs::path& file) {
  std::string text = read_file_bytes(file);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

}  // namespace attention_plasticity
