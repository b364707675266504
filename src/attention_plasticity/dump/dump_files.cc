#include "attention_plasticity/dump/dump_files.h"

#include <chrono>
#include <system_error>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/dump/stored_file.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

class DiskFiles : public DumpFiles {
 public:
  std::shared_ptr<const InputFile> open(const fs::path& file) const override {
    return std::make_shared<DiskFile>(file);
  }
  bool exists(const fs::path& file) const override {
    std::error_code unknown;
    return fs::symlink_status(file, unknown).type() != fs::file_type::not_found;
  }
  std::string text(const fs::path& file) const override {
    std::error_code unknown;
    if (!fs::is_regular_file(file, unknown)) throw Error(ErrorKind::input, "is not a file that can be read");
    return read_text_file(file);
  }
};

std::int64_t now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

}  // namespace

const DumpFiles& disk_files() {
  static const DiskFiles files;
  return files;
}

StoredFiles::StoredFiles(const StoreAddress& address)
    : store_(std::make_unique<Store>(address)), guess_(std::make_unique<TailGuess>()), root_(address.shown()) {
  const std::int64_t listed_at = now();
  for (const ListedObject& object : store_->list()) {
    files_[object.path] = std::make_shared<StoredFile>(*store_, object, listed_at, *guess_);
  }
}

StoredFiles::~StoredFiles() = default;

std::vector<std::string> StoredFiles::paths() const {
  std::vector<std::string> all;
  all.reserve(files_.size());
  for (const auto& [path, file] : files_) all.push_back(path);
  return all;
}

std::string StoredFiles::name(const fs::path& file) const { return file.lexically_relative(root_).generic_string(); }

bool StoredFiles::exists(const fs::path& file) const { return files_.contains(name(file)); }

std::shared_ptr<const InputFile> StoredFiles::open(const fs::path& file) const {
  const auto found = files_.find(name(file));
  if (found == files_.end()) {
    throw Error(ErrorKind::input, "the file does not exist; download or capture this head again", file.string());
  }
  return found->second;
}

std::string StoredFiles::text(const fs::path& file) const {
  open(file);  // a file that was not listed is not read
  return store_->read_all(name(file));
}

std::optional<FileIdentity> StoredFiles::listed(const fs::path& file) const {
  const auto found = files_.find(name(file));
  return found == files_.end() ? std::nullopt : std::optional(found->second->identity());
}

void StoredFiles::release(const fs::path& file) const {
  const auto found = files_.find(name(file));
  if (found != files_.end()) found->second->release();
}

}  // namespace attention_plasticity
