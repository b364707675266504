#include "attention_plasticity/outcomes/saved_heads.h"

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
#include "attention_plasticity/outcomes/outcome_bytes.h"
#include "attention_plasticity/outcomes/run_manifest.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view head_ending = ".head";

fs::path manifest_file(const fs::path& folder) { return folder / "manifest.json"; }

fs::path head_file(const fs::path& folder, const HeadId& head) {
  return folder / fmt::format("l{:02}h{:02}{}", head.layer, head.q_head, head_ending);
}

std::vector<fs::path> head_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const std::string& name : folder_names(folder, error)) {
    if (name.ends_with(head_ending)) files.push_back(folder / name);
  }
  return files;
}

// The files of saved heads: whether others have changed does not matter.
std::set<std::string> files_of(const std::map<HeadId, HeadOutcome>& heads, const PreparedRun& earlier) {
  std::set<std::string> files;
  for (const HeadTask& task : earlier.tasks) {
    if (!heads.contains(task.head)) continue;
    for (const HeadSide& side : {queries_of(task.head), keys_of(task.head)}) {
      const fs::path file = earlier.layout.file(side.side, side.head);
      files.insert(file.lexically_relative(earlier.layout.folder).generic_string());
    }
  }
  return files;
}

void require(bool holds, const char* what) {
  if (!holds) throw Error(ErrorKind::input, fmt::format("does not fit this run: {}", what));
}

bool is_ascending(const auto& values) { return std::ranges::is_sorted(values, std::less_equal{}); }

void check_record(const std::optional<SideRecord>& record, const PreparedRun& prepared) {
  if (!record || !record->evidence) return;
  std::size_t refined = 0;
  if (prepared.rotation && prepared.rotation->refined) refined = prepared.rotation->refined->size();
  const FixedEnergy& fixed = record->evidence->fixed;
  require(fixed.common.size() == common_candidates().size() && fixed.further.size() == refined,
          "evidence on other rotations");
}

void check_measured(const HeadId& head, const MeasuredHead& measured, const PreparedRun& prepared) {
  const HeadResult& result = measured.result;
  require(result.head == head, "figures of another head");
  require(result.width > 0 && result.component_r_squared.size() == result.width &&
              result.component_weight.size() == result.width,
          "figures of other components");
  require(is_ascending(result.examples), "documents are not in order");
  require(!result.exact || prepared.rotation.has_value(), "position-exact figures without a rotation");
  const WithoutGroup& without = measured.without_group;
  const std::size_t groups = RunGroups(prepared.reference_documents).count();
  require(is_ascending(without.groups) && (without.groups.empty() || without.groups.back() < groups), "other groups");
  require(without.overall.size() == without.groups.size() &&
              without.exact.size() == (result.exact ? without.groups.size() : 0),
          "leave-one-out values of other groups");
}

}  // namespace

fs::path saved_heads_folder(const RunConfig& config) {
  return fs::path(run_json_path(config)).replace_filename(".attention-plasticity-heads");
}

void remove_saved_heads(const fs::path& folder) noexcept {
  try {
    std::error_code ignored;
    remove_tree(folder, ignored);
  } catch (const std::bad_alloc&) {
    return;  // the next run removes them
  }
}

void check_outcome(const HeadOutcome& outcome, const PreparedRun& prepared) {
  require(std::ranges::binary_search(prepared.tasks, outcome.head, {}, &HeadTask::head),
          "a head that it does not have");
  require(outcome.measured.has_value() != outcome.failure.has_value(), "a head without figures and without a failure");
  check_record(outcome.queries, prepared);
  check_record(outcome.keys, prepared);
  if (outcome.failure) {
    require(outcome.failure->head == outcome.head, "the failure of another head");
    return;
  }
  require(outcome.queries && outcome.keys, "figures of rows that were not read");
  if (outcome.measured) check_measured(outcome.head, *outcome.measured, prepared);
}

SavedRun read_saved_heads(const fs::path& folder) {
  const fs::path file = manifest_file(folder);
  SavedRun saved{read_text_file(file, most_record_bytes), {}, 0};
  const PreparedRun run = recorded_run(saved.manifest, file.string());
  for (const fs::path& head : head_files(folder)) {
    try {
      HeadOutcome outcome = outcome_of_bytes(read_text_file(head, most_table_bytes));
      require(head == head_file(folder, outcome.head), "another head than its name says");
      check_outcome(outcome, run);
      saved.heads.push_back(std::move(outcome));
    } catch (const Error&) {
      ++saved.damaged;
    }
  }
  std::ranges::sort(saved.heads, {}, &HeadOutcome::head);
  return saved;
}

SavedHeads::SavedHeads(Options options, const PreparedRun& prepared, const RunConfig& config, const RunObserver& told)
    : options_(std::move(options)), manifest_(manifest_text(prepared, config)), told_(told) {
  if (options_.resume) {
    read(prepared);
  } else {
    drop();
  }
}

void SavedHeads::read(const PreparedRun& prepared) {
  const std::size_t files = head_files(options_.folder).size();
  if (files == 0) return;
  SavedRun saved;
  try {
    saved = read_saved_heads(options_.folder);
  } catch (const Error& error) {
    told_.warning(fmt::format("{}: {}; {} beside it cannot be used and will be measured again", error.file(),
                              error.what(), counted_text(files, "saved head")));
    remove();
    return;
  }
  std::size_t failed = 0;
  for (HeadOutcome& outcome : saved.heads) {
    const HeadId head = outcome.head;
    if (outcome.failure) {
      ++failed;
    } else {
      found_.emplace(head, std::move(outcome));
    }
  }
  const std::set<std::string> counted =
      files_of(found_, recorded_run(saved.manifest, manifest_file(options_.folder).string()));
  const std::vector<std::string> differences = manifest_differences(
      saved.manifest, manifest_, {.counts = [&](const std::string& file) { return counted.contains(file); }});
  if (!differences.empty()) {
    constexpr std::size_t most = 5;
    const std::size_t shown = std::min(differences.size(), most);
    throw Error(ErrorKind::usage,
                fmt::format("{} here {} of another run: {}{}; run without `resume` to start afresh",
                            counted_text(found_.size(), "saved head"), found_.size() == 1 ? "is" : "are",
                            fmt::join(std::span(differences).first(shown), "; "),
                            differences.size() > most ? fmt::format("; and {} more", differences.size() - most) : ""),
                options_.folder.string());
  }
  if (saved.damaged > 0) {
    told_.note(fmt::format("{} cannot be read and will be measured again", counted_text(saved.damaged, "saved head")));
  }
  if (failed > 0) told_.note(fmt::format("{} failed before and will be measured again", counted_text(failed, "head")));
  told_.note(fmt::format("resuming: {} of {} heads are saved", found_.size(), prepared.tasks.size()));
}

void SavedHeads::drop() {
  const std::vector<fs::path> files = head_files(options_.folder);
  if (!files.empty()) {
    bool is_same = false;
    try {
      is_same = manifest_differences(read_saved_heads(options_.folder).manifest, manifest_).empty();
    } catch (const Error&) {
      is_same = false;  // of no use to any run
    }
    told_.note(fmt::format("dropped {} of an earlier run{}", counted_text(files.size(), "saved head"),
                           is_same ? "; `resume` would have used them" : ""));
  }
  remove();
}

std::optional<HeadOutcome> SavedHeads::take(const HeadId& head) {
  auto node = found_.extract(head);
  return node ? std::optional(std::move(node.mapped())) : std::nullopt;
}

void SavedHeads::remove_saved(std::vector<HeadTask>& tasks) const {
  std::erase_if(tasks, [this](const HeadTask& task) { return found_.contains(task.head); });
}

void SavedHeads::write_manifest(std::string manifest) {
  manifest_ = std::move(manifest);
  is_ready_ = false;
  make_ready();
}

void SavedHeads::make_ready() {
  // It waits for the disk, so that no head is there without it.
  if (!is_ready_) write_file_atomically(manifest_file(options_.folder), manifest_);
  is_ready_ = true;
}

void SavedHeads::save(const HeadOutcome& outcome) {
  if (has_failed_) return;
  try {
    make_ready();
    AtomicFile file(head_file(options_.folder, outcome.head), Durability::unsynced);
    write_outcome(outcome, [&file](std::string_view piece) { file.append(piece); });
    file.commit();
  } catch (const Error& error) {
    stop_saving(fmt::format("{}: {}", error.file(), error.what()));
  } catch (const std::bad_alloc&) {
    stop_saving("not enough memory to save a head");
  }
}

void SavedHeads::stop_saving(const std::string& why) {
  has_failed_ = true;
  told_.warning(why + "; the run goes on, but heads that end from now on are not saved");
}

}  // namespace attention_plasticity
