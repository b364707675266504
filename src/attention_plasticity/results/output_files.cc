#include "attention_plasticity/results/output_files.h"

#include <unistd.h>

#include <cerrno>
#include <set>
#include <utility>

#include "attention_plasticity/digest/digest.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

}  // namespace

OutputFiles::OutputFiles(const fs::path& record) : folder_(folder_of(linked_target(record))) {
  make_output_folder(folder_.folder());
}

bool OutputFiles::is_in_folder(const fs::path& file) const {
  std::error_code missing;
  return fs::equivalent(folder_of(file), folder_.folder(), missing) && !missing;
}

std::string OutputFiles::stage(const fs::path& target, const std::function<void(const Sink&)>& write) {
  Digest digest(DigestKind::sha256);
  const auto write_to = [&](auto& file) {
    write([&](std::string_view bytes) {
      digest.add(bytes);
      file.append(bytes);
    });
  };
  const fs::path file = linked_target(target);
  if (is_in_folder(file)) {
    require_file_or_nothing(file, target);
    FileWriter writer = folder_.create(file.filename().string(), target);
    write_to(writer);
    writer.sync();
    writer.close_quietly();
  } else {
    write_to(elsewhere_.emplace_back(target));
  }
  return digest.finish();
}

std::string OutputFiles::stage(const fs::path& target, std::string_view content) {
  return stage(target, [&](const Sink& sink) { sink(content); });
}

void OutputFiles::remove(const fs::path& target) {
  const fs::path file = linked_target(target);
  if (is_in_folder(file)) {
    folder_.remove(file.filename().string());
  } else {
    removed_elsewhere_.push_back(file);
  }
}

void OutputFiles::commit() {
  for (AtomicFile& file : elsewhere_) file.commit();
  folder_.commit();
  for (const fs::path& file : removed_elsewhere_) {
    if (::unlink(file.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
      fail_output(file, "remove this file", errno);
  }
}

std::vector<FolderLock> lock_outputs(std::span<const std::string> targets) {
  std::vector<fs::path> folders;
  folders.reserve(targets.size());
  for (const std::string& target : targets) folders.push_back(folder_of(linked_target(target)));
  std::vector<FolderLock> locks = lock_folders(folders);
  for (const FolderLock& lock : locks) {
    settle(lock.folder());
    remove_stale_temporary_files(lock.folder());
  }
  return locks;
}

void check_writable(std::span<const std::string> targets) {
  std::set<fs::path> folders;
  for (const std::string& target : targets) {
    const fs::path file = linked_target(target);
    // A file in each folder shows that others can be written there.
    if (folders.insert(folder_of(file)).second) {
      AtomicFile{target};
    } else {
      require_file_or_nothing(file, target);
    }
  }
}

fs::path partial_name(const fs::path& target) {
  fs::path name = target;
  name.replace_extension();
  name += ".partial";
  name += target.extension();
  return name;
}

}  // namespace attention_plasticity
