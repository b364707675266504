#include "array_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "attention_plasticity/base/finite.h"
#include "attention_plasticity/base/memory_account.h"
#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/memory.h"
#include "attention_plasticity/run/common_groups.h"
#include "attention_plasticity/run/head_pass.h"
#include "attention_plasticity/run/head_queue.h"
#include "attention_plasticity/run/rotation_check.h"
#include "attention_plasticity/run/rotation_inference.h"
#include "options.h"

namespace attention_plasticity::python {
namespace {

using Outcomes = std::vector<std::optional<HeadOutcome>>;

// Rows without those that hold a NaN or an infinity; none when there are no such rows.
std::optional<HeadRows> without_non_finite(const RowsView& rows) {
  std::vector<std::size_t> kept;
  kept.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (all_finite(rows.row(i))) kept.push_back(i);
  }
  if (kept.size() == rows.size()) return std::nullopt;
  HeadRows picked;
  picked.width = rows.width;
  picked.window = rows.window;
  for (const std::size_t i : kept) {
    picked.bucket.push_back(rows.bucket[i]);
    picked.position.push_back(rows.position[i]);
    if (!rows.example.empty()) picked.example.push_back(rows.example[i]);
    picked.vectors.insert(picked.vectors.end(), rows.row(i).begin(), rows.row(i).end());
  }
  return picked;
}

KeptRows kept_rows(const RowsView& rows, std::string_view what, const RunConfig& config, FileRead& read) {
  check_columns(rows, what);
  read.has_examples = !rows.example.empty();
  if (config.non_finite == NonFinite::drop) {
    if (std::optional<HeadRows> finite = without_non_finite(rows)) {
      read.dropped_rows = rows.size() - finite->size();
      checked_rows(*finite, what);
      return KeptRows(std::move(*finite));
    }
  }
  return checked_rows(rows, what);
}

const char* side_text(Side side) { return side == Side::query ? "queries" : "keys"; }

// The heads in place of files by which the rotation is judged. They must outlive what is returned.
std::vector<RotationFile> rotation_rows(std::span<const ArrayHead> heads, const RunConfig& config) {
  std::vector<RotationFile> files;
  files.reserve(2 * heads.size());
  const auto add = [&](Side side, const HeadKey& head, const RowsView& rows) {
    files.push_back({side, head, {}, [&rows, &config, side](const std::function<void(const RowsView&)>& use) {
                       FileRead unused;
                       use(kept_rows(rows, side_text(side), config, unused).view());
                     }});
  };
  for (const ArrayHead& head : heads) {
    add(Side::query, {head.head.layer, head.head.q_head}, head.queries);
    add(Side::key, {head.head.layer, head.head.k_head}, head.keys);
  }
  return files;
}

// One pass over heads, as HeadPass is for the heads of a dump.
class ArrayPass {
 public:
  ArrayPass(std::span<const ArrayHead* const> heads, const PreparedRun& prepared, const RunConfig& config,
            RotationEvidence* evidence, std::span<const std::uint64_t> jackknife_examples)
      : prepared_(prepared), config_(config), evidence_(evidence), jackknife_examples_(jackknife_examples) {
    for (std::size_t i = 0; i < heads.size(); ++i) places_.emplace(by_keys(heads[i]->head), Place{i, heads[i]});
    // The queue knows keys by their file.
    for (const auto& [key, place] : places_) {
      HeadTask& task = tasks_.emplace_back();
      task.head = place.head->head;
      task.key_file = fmt::format("{}/{}", task.head.layer, task.head.k_head);
    }
  }

  /// Hands over the outcome of each head, by its number; one at a time.
  void run(int workers, std::uint64_t held_bytes, const std::stop_token& stop,
           const std::function<void(std::size_t, HeadOutcome)>& ended) {
    std::mutex mutex;
    for_each_head(
        tasks_, {workers, config_.memory_limit, {}, held_bytes}, [this](const HeadTask& task) { return load(task); },
        [&](std::size_t number, const LoadedKeys* keys, const std::exception_ptr& failure) {
          const Place& place = at(tasks_[number]);
          const auto outcome = std::make_shared<HeadOutcome>(analyse(*place.head, keys, failure));
          const bool is_again = !jackknife_examples_.empty();
          return FinishedTask{[&mutex, &ended, outcome, i = place.number] {
                                const std::scoped_lock lock(mutex);
                                ended(i, std::move(*outcome));
                              },
                              is_again ? sizeof(WithoutGroup) : memory_of(*outcome), outcome->failure.has_value()};
        },
        stop);
  }

 private:
  struct Place {
    std::size_t number;
    const ArrayHead* head;
  };
  // Heads with the same keys adjoin.
  static std::tuple<int, int, int> by_keys(const HeadId& head) { return {head.layer, head.k_head, head.q_head}; }
  const Place& at(const HeadTask& task) const { return places_.at(by_keys(task.head)); }

  KeptRows rows(const RowsView& given, Side side, const HeadKey& head, FileRead& read) const {
    KeptRows kept = kept_rows(given, side_text(side), config_, read);
    if (evidence_ != nullptr) read.evidence = evidence_->add(side, head, kept.view());
    return kept;
  }

  LoadedKeys load(const HeadTask& task) const {
    FileRead read;
    KeptRows kept = rows(at(task).head->keys, Side::key, {task.head.layer, task.head.k_head}, read);
    return {orient_keys(std::move(kept), config_.analysis), std::move(read)};
  }

  HeadOutcome analyse(const ArrayHead& head, const LoadedKeys* keys, const std::exception_ptr& key_failure) const {
    HeadOutcome outcome;
    outcome.head = head.head;
    const auto fail = [&](const std::string& message) { outcome.failure = HeadFailure{head.head, "", message}; };
    try {
      if (key_failure || keys == nullptr) std::rethrow_exception(key_failure);
      outcome.keys = keys->read;
      FileRead read;
      KeptRows queries = rows(head.queries, Side::query, {head.head.layer, head.head.q_head}, read);
      outcome.queries = std::move(read);
      std::optional<LayerRotation> layer;
      const std::optional<DumpRotation>& rotation = prepared_.rotation;
      if (rotation && rotation->is_known_in(head.head.layer)) {
        layer = rotation->layer(head.head.layer, queries.view().width);
      }
      const ConstantComponent constant =
          config_.compat == Compat::python ? ConstantComponent::fits : ConstantComponent::has_no_fit;
      outcome.measured = measure_head(head.head, std::move(queries), keys->keys, config_.analysis,
                                      {layer ? &layer->rotation : nullptr, jackknife_examples_, constant});
    } catch (const OverMemoryLimit& over) {
      if (!key_failure) throw;  // it will be tried again
      fail(over_limit_text(over));
    } catch (const std::bad_alloc&) {
      if (!key_failure && MemoryAccount::current() != nullptr && MemoryAccount::current()->refusal()) throw;
      fail("not enough memory for this head; lower `max_workers` or set `memory_limit`");
    } catch (const std::exception& error) {
      fail(error.what());
    }
    return outcome;
  }

  const PreparedRun& prepared_;
  const RunConfig& config_;
  RotationEvidence* evidence_;  // null: the rotation is not checked
  std::span<const std::uint64_t> jackknife_examples_;
  std::map<std::tuple<int, int, int>, Place> places_;
  std::vector<HeadTask> tasks_;  // in the order of places_
};

double largest_position(std::span<const ArrayHead> heads) {
  double largest = 0;
  for (const ArrayHead& head : heads) {
    for (const RowsView* rows : {&head.queries, &head.keys}) {
      for (const double position : rows->position) largest = std::max(largest, position);
    }
  }
  return largest;
}

int size_of(std::optional<int> given, int needed, const char* field) {
  if (given && *given < needed) {
    throw Error(ErrorKind::usage,
                fmt::format("`{}`: {} is less than 1 + the largest number of the heads, {}", field, *given, needed));
  }
  return given.value_or(needed);
}

PreparedRun prepare(std::span<const ArrayHead> heads, const RunConfig& config) {
  PreparedRun prepared;
  prepared.model_name = config.model_dir.empty() ? "arrays" : config.model_dir;
  HeadId largest{};
  for (const ArrayHead& head : heads) {
    largest.layer = std::max(largest.layer, head.head.layer);
    largest.q_head = std::max(largest.q_head, head.head.q_head);
    largest.k_head = std::max(largest.k_head, head.head.k_head);
    HeadTask task;
    task.head = head.head;
    task.width = head.queries.width;
    prepared.tasks.push_back(std::move(task));
  }
  prepared.grid.num_layers = size_of(config.num_layers, largest.layer + 1, "num_layers");
  prepared.grid.num_q_heads = size_of(config.num_q_heads, largest.q_head + 1, "num_q_heads");
  prepared.grid.num_k_heads = size_of(config.num_k_heads, largest.k_head + 1, "num_k_heads");
  if (config.analysis.num_triples == 0) return prepared;
  if (std::optional<ModelRotation> model = rotation_of(config)) {
    const double length = model->depends_on_length() ? largest_position(heads) : 0;
    const RotationSource source = config.rope_config ? RotationSource::config : RotationSource::flags;
    prepared.rotation = DumpRotation{std::move(*model), length, source, {}};
    return prepared;
  }
  if (config.analysis.vectors == Vectors::pre) {
    prepared.notes.emplace_back(pre_vectors_show_no_rotation);
    return prepared;
  }
  InferredRotation inferred = infer_rotation(rotation_rows(heads, config), config);
  prepared.rotation = std::move(inferred.rotation);
  prepared.rotation_shares = std::move(inferred.shares);
  (inferred.may_be_wrong ? prepared.warnings : prepared.notes).push_back(std::move(inferred.line));
  return prepared;
}

// Tells of rows that may make results wrong, of each key head once, and counts those that were dropped.
class RowWarnings {
 public:
  explicit RowWarnings(const RunObserver& observer) : observer_(observer) {}

  void look(const HeadOutcome& outcome) {
    look(outcome.queries, outcome.head, Side::query);
    if (outcome.keys && keys_.emplace(outcome.head.layer, outcome.head.k_head).second) {
      look(outcome.keys, outcome.head, Side::key);
    }
  }
  std::uint64_t dropped() const { return dropped_; }

 private:
  void look(const std::optional<FileRead>& read, const HeadId& head, Side side) {
    if (!read) return;
    dropped_ += read->dropped_rows;
    const std::string place = side == Side::query ? fmt::format("layer {} q_head {}", head.layer, head.q_head)
                                                  : fmt::format("layer {} k_head {}", head.layer, head.k_head);
    if (read->dropped_rows > 0) {
      observer_.warning(fmt::format("{}: dropped {} rows of the {} with NaN or infinity", place, read->dropped_rows,
                                    side_text(side)));
    }
    if (!read->has_examples && !std::exchange(said_no_examples_, true)) {
      observer_.warning(
          fmt::format("{}: the {} have no example_id, so no key pairs can be formed", place, side_text(side)));
    }
  }

  const RunObserver& observer_;
  std::set<std::pair<int, int>> keys_;
  std::uint64_t dropped_ = 0;
  bool said_no_examples_ = false;
};

}  // namespace

ArrayRun analyze_arrays(std::vector<ArrayHead> heads, RunConfig config, const RunObserver& observer,
                        const std::stop_token& stop) {
  std::ranges::sort(heads, {}, &ArrayHead::head);
  for (std::size_t i = 1; i < heads.size(); ++i) {
    if (heads[i].head.layer == heads[i - 1].head.layer && heads[i].head.q_head == heads[i - 1].head.q_head) {
      throw Error(ErrorKind::usage,
                  fmt::format("layer {} q_head {} is given twice", heads[i].head.layer, heads[i].head.q_head));
    }
  }
  ArrayRun run{prepare(heads, config), std::move(config), {}};
  for (const std::string& note : run.prepared.notes) observer.note(note);
  for (const std::string& warning : run.prepared.warnings) observer.warning(warning);
  const std::unique_ptr<RotationEvidence> evidence =
      configured_evidence(run.prepared, run.config, rotation_rows(heads, run.config));
  const int workers = run.config.max_workers.value_or(usable_cores());

  std::vector<const ArrayHead*> all;
  all.reserve(heads.size());
  for (const ArrayHead& head : heads) all.push_back(&head);
  Outcomes ended(all.size());
  std::size_t count = 0;
  RowWarnings warnings(observer);
  ArrayPass(all, run.prepared, run.config, evidence.get(), {})
      .run(workers, 0, stop, [&](std::size_t i, HeadOutcome outcome) {
        const HeadOutcome& kept = ended[i].emplace(std::move(outcome));
        warnings.look(kept);
        observer.head_ended({kept.head, kept.measured ? &kept.measured->result : nullptr,
                             kept.failure ? &*kept.failure : nullptr, ++count, all.size()});
      });
  std::vector<HeadOutcome> outcomes;
  outcomes.reserve(count);
  for (std::optional<HeadOutcome>& outcome : ended) {
    if (outcome) outcomes.push_back(std::move(*outcome));
  }
  bool complete = count == all.size();
  std::optional<RotationShares> shares;
  if (complete && evidence) shares = checked_shares(*evidence, run.prepared, run.config, observer);
  std::optional<std::vector<std::uint64_t>> examples;
  if (complete && run.config.analysis.standard_errors) examples = common_examples(outcomes);
  if (examples) {
    const std::vector<std::size_t> again = without_common_groups(outcomes, *examples);
    std::vector<const ArrayHead*> others;
    others.reserve(again.size());
    for (const std::size_t i : again) others.push_back(all[i]);
    const std::string digest = examples_digest(*examples);
    std::size_t measured = 0;
    std::uint64_t held = 0;
    for (const HeadOutcome& outcome : outcomes) held += memory_of(outcome);
    ArrayPass(others, run.prepared, run.config, nullptr, *examples)
        .run(workers, held, stop, [&](std::size_t i, HeadOutcome outcome) {
          if (!outcome.measured) return;
          outcomes[again[i]].common_groups = CommonGroups{digest, std::move(outcome.measured->without_group)};
          ++measured;
        });
    complete = measured == again.size();
  }
  // Files of arrays do not exist, and are not told of as such.
  for (HeadOutcome& outcome : outcomes) {
    outcome.queries.reset();
    outcome.keys.reset();
  }
  run.run = gathered(std::move(outcomes), complete ? examples : std::nullopt);
  run.run.dropped_rows = warnings.dropped();
  run.run.rotation_shares = std::move(shares);
  run.run.interrupted = !complete;
  release_kept_memory();
  return run;
}

}  // namespace attention_plasticity::python
