#include "attention_plasticity/run/kept_heads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>
#include <set>
#include <system_error>
#include <utility>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/folder_names.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/outcome_bytes.h"
#include "attention_plasticity/run/run_manifest.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view head_ending = ".head";

std::vector<fs::path> head_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const std::string& name : folder_names(folder, error)) {
    if (name.ends_with(head_ending)) files.push_back(folder / name);
  }
  return files;
}

// Null when there is none that can be read.
std::optional<std::string> read_manifest(const fs::path& file) {
  try {
    std::string text = read_text_file(file, most_record_bytes);
    recorded_run(text, file.string());
    return text;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The files of kept heads: whether others have changed does not matter.
std::set<std::string> files_of(const std::map<HeadId, HeadOutcome>& heads, const PreparedRun& earlier) {
  std::set<std::string> files;
  for (const HeadTask& task : earlier.tasks) {
    if (!heads.contains(task.head)) continue;
    for (const fs::path& file : {task.query_file, task.key_file}) {
      files.insert(file.lexically_relative(earlier.layout.folder).generic_string());
    }
  }
  return files;
}

}  // namespace

fs::path kept_heads_folder(const RunConfig& config) {
  return fs::path(run_json_path(config)).replace_filename(".attention-plasticity-heads");
}

void remove_kept_heads(const fs::path& folder) noexcept {
  try {
    std::error_code ignored;
    remove_tree(folder, ignored);
  } catch (const std::bad_alloc&) {
    return;  // the next run removes them
  }
}

KeptHeads::KeptHeads(KeepOptions options, const PreparedRun& prepared, const RunConfig& config,
                     const RunObserver& observer)
    : options_(std::move(options)), manifest_(manifest_text(prepared, config)), observer_(observer) {
  if (options_.resume) {
    read(prepared);
  } else {
    drop();
  }
}

fs::path KeptHeads::head_file(const HeadId& head) const {
  return options_.folder / fmt::format("l{:02}h{:02}{}", head.layer, head.q_head, head_ending);
}

void KeptHeads::read(const PreparedRun& prepared) {
  const std::vector<fs::path> files = head_files(options_.folder);
  if (files.empty()) return;
  const std::optional<std::string> earlier = read_manifest(manifest_file());
  if (!earlier) {
    observer_.warning(
        fmt::format("{}: cannot be read, so it is not known whose {} are kept beside it; all are measured",
                    manifest_file().string(), counted_text(files.size(), "head")));
    drop();
    return;
  }
  std::size_t damaged = 0;
  for (const fs::path& file : files) {
    try {
      HeadOutcome outcome = outcome_of_bytes(read_text_file(file, most_table_bytes));
      const HeadId head = outcome.head;
      found_.emplace(head, std::move(outcome));
    } catch (const Error&) {
      ++damaged;
    }
  }
  const std::set<std::string> counted = files_of(found_, recorded_run(*earlier, manifest_file().string()));
  const std::vector<std::string> differences = manifest_differences(
      *earlier, manifest_, {.counts = [&](const std::string& file) { return counted.contains(file); }});
  if (!differences.empty()) {
    constexpr std::size_t most = 5;
    const std::size_t shown = std::min(differences.size(), most);
    throw Error(ErrorKind::usage,
                fmt::format("{} kept here are of another run: {}{}; run without `resume` to start afresh",
                            counted_text(found_.size(), "head"), fmt::join(std::span(differences).first(shown), "; "),
                            differences.size() > most ? fmt::format("; and {} more", differences.size() - most) : ""),
                options_.folder.string());
  }
  if (damaged > 0) {
    observer_.note(
        fmt::format("{} of the kept heads {} damaged and measured again", damaged, damaged == 1 ? "is" : "are"));
  }
  observer_.note(fmt::format("resuming: {} of {} heads are kept", found_.size(), prepared.tasks.size()));
}

void KeptHeads::drop() {
  const std::vector<fs::path> files = head_files(options_.folder);
  if (!files.empty() && !options_.resume) {
    const std::optional<std::string> earlier = read_manifest(manifest_file());
    const bool same = earlier && manifest_differences(*earlier, manifest_).empty();
    observer_.note(fmt::format("dropped {} that an earlier run kept{}", counted_text(files.size(), "head"),
                               same ? "; `resume` would have used them" : ""));
  }
  remove();
}

void KeptHeads::keep(const HeadOutcome& outcome) {
  if (has_failed_ || !outcome.measured) return;
  try {
    // The manifest is on disk before any head is, and waits for the disk.
    if (!is_ready_) write_file_atomically(manifest_file(), manifest_);
    is_ready_ = true;
    AtomicFile file(head_file(outcome.head), Durability::unsynced);
    write_outcome(outcome, [&file](std::string_view piece) { file.append(piece); });
    file.commit();
  } catch (const Error& error) {
    stop_keeping(fmt::format("{}: {}", error.file(), error.what()));
  } catch (const std::bad_alloc&) {
    stop_keeping("not enough memory to keep a head");
  }
}

void KeptHeads::stop_keeping(const std::string& why) {
  has_failed_ = true;
  observer_.warning(why + "; the run goes on, but heads that end from now on are not kept");
}

}  // namespace attention_plasticity
