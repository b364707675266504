#include "attention_plasticity/results/output_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_name_bytes = 255;

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// The first bytes of a text, without a part of a character of UTF-8 at the end.
std::string first_bytes(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

}  // namespace

std::string OutputFiles::stage(const fs::path& target, const std::function<void(const Sink&)>& write) {
  AtomicFile& file = staged_.emplace_back(target);
  Digest digest(DigestKind::sha256);
  write([&](std::string_view bytes) {
    digest.add(bytes);
    file.append(bytes);
  });
  file.flush();
  return digest.finish();
}

std::string OutputFiles::stage(const fs::path& target, std::string_view content) {
  return stage(target, [&](const Sink& sink) { sink(content); });
}

void OutputFiles::remove(const fs::path& target) { removed_.push_back(linked_target(target)); }

// A marked file may be a staged one under another path.
void OutputFiles::remove_marked() const {
  for (const fs::path& file : removed_) {
    const bool is_staged = std::ranges::any_of(staged_, [&](const AtomicFile& staged) {
      std::error_code unknown;
      return fs::equivalent(staged.target(), file, unknown);
    });
    if (!is_staged && ::unlink(file.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
      fail_output(file, "remove this file", errno);
    }
  }
}

void OutputFiles::commit() {
  std::size_t renamed = 0;
  try {
    for (AtomicFile& file : staged_) {
      if (&file == &staged_.back()) remove_marked();
      file.rename();
      ++renamed;
    }
    std::set<fs::path> folders;
    for (const AtomicFile& file : staged_) folders.insert(file.folder());
    for (const fs::path& folder : folders) sync_folder(folder);
  } catch (const Error& error) {
    if (renamed == 0) throw;
    const bool is_done = renamed == staged_.size();
    throw Error(error.kind(),
                fmt::format("{}; {}", error.what(),
                            is_done ? "the new results are in place, but a loss of power may undo that"
                                    : "some files are replaced and some are not, so readers refuse them"),
                error.file());
  }
}

std::vector<FolderLock> lock_outputs(std::span<const std::string> targets) {
  std::vector<fs::path> folders;
  folders.reserve(targets.size());
  for (const std::string& target : targets) folders.push_back(folder_of(linked_target(target)));
  std::vector<FolderLock> locks = lock_folders(folders);
  for (const FolderLock& lock : locks) remove_stale_temporary_files(lock.folder());
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
  const std::string ending = ".partial" + target.extension().string();
  std::string name = target.stem().string() + ending;
  if (name.size() > most_name_bytes) {
    const std::string mark = "-" + sha256(target.filename().string()).substr(0, 8);
    const std::size_t rest = mark.size() + ending.size();
    if (rest < most_name_bytes) {
      name = first_bytes(target.stem().string(), most_name_bytes - rest) + mark + ending;
    } else {
      name = mark + ".partial";
    }
  }
  return target.parent_path() / name;
}

}  // namespace attention_plasticity
