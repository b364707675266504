#include "array_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "attention_plasticity/base/finite.h"
#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/memory.h"
#include "attention_plasticity/run/common_groups.h"
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

// The keys of one key head: prepared by the first query head that needs them, freed after the last.
class SharedKeys {
 public:
  explicit SharedKeys(const RowsView& rows) : rows_(rows) {}

  void add_reader() { ++readers_; }

  std::shared_ptr<const LoadedKeys> take(const RunConfig& config) {
    const std::scoped_lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    if (!keys_) {
      try {
        FileRead read;
        KeptRows kept = kept_rows(rows_, "keys", config, read);
        keys_ = std::make_shared<const LoadedKeys>(LoadedKeys{orient_keys(std::move(kept), config.analysis), read});
      } catch (...) {
        failure_ = std::current_exception();
        throw;
      }
    }
    return keys_;
  }
  void leave() {
    const std::scoped_lock lock(mutex_);
    if (--readers_ == 0) keys_.reset();
  }

 private:
  RowsView rows_;
  std::mutex mutex_;
  std::size_t readers_ = 0;
  std::shared_ptr<const LoadedKeys> keys_;
  std::exception_ptr failure_;
};

class ArrayPass {
 public:
  ArrayPass(std::span<const ArrayHead* const> heads, const PreparedRun& prepared, const RunConfig& config,
            std::span<const std::uint64_t> jackknife_examples)
      : heads_(heads), prepared_(prepared), config_(config), jackknife_examples_(jackknife_examples) {
    for (const ArrayHead* head : heads_) {
      auto [place, is_new] = keys_.try_emplace({head->head.layer, head->head.k_head});
      if (is_new) place->second = std::make_unique<SharedKeys>(head->keys);
      place->second->add_reader();
    }
  }

  /// Hands over the outcome of each head, by its number; one at a time.
  void run(int workers, const std::stop_token& stop, const std::function<void(std::size_t, HeadOutcome)>& ended) {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::vector<std::jthread> threads;
    const auto work = [&] {
      for (std::size_t i = next++; i < heads_.size() && !stop.stop_requested(); i = next++) {
        HeadOutcome outcome = analyse(*heads_[i]);
        const std::scoped_lock lock(mutex);
        ended(i, std::move(outcome));
      }
    };
    const auto count = std::min(static_cast<std::size_t>(workers), heads_.size());
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work);
  }

 private:
  HeadOutcome analyse(const ArrayHead& head) {
    HeadOutcome outcome;
    outcome.head = head.head;
    SharedKeys& shared = *keys_.at({head.head.layer, head.head.k_head});
    try {
      const std::shared_ptr<const LoadedKeys> keys = shared.take(config_);
      outcome.keys = keys->read;
      FileRead read;
      KeptRows queries = kept_rows(head.queries, "queries", config_, read);
      outcome.queries = read;
      std::optional<LayerRotation> layer;
      if (prepared_.rotation) layer = prepared_.rotation->layer(head.head.layer, queries.view().width);
      const ConstantComponent constant =
          config_.compat == Compat::python ? ConstantComponent::fits : ConstantComponent::has_no_fit;
      outcome.measured = measure_head(head.head, std::move(queries), keys->keys, config_.analysis,
                                      {layer ? &layer->rotation : nullptr, jackknife_examples_, constant});
    } catch (const std::bad_alloc&) {
      outcome.failure = HeadFailure{head.head, "", "not enough memory for this head; lower `max_workers`"};
    } catch (const std::exception& error) {
      outcome.failure = HeadFailure{head.head, "", error.what()};
    }
    shared.leave();
    return outcome;
  }

  std::span<const ArrayHead* const> heads_;
  const PreparedRun& prepared_;
  const RunConfig& config_;
  std::span<const std::uint64_t> jackknife_examples_;
  std::map<std::pair<int, int>, std::unique_ptr<SharedKeys>> keys_;
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
  } else {
    prepared.notes.emplace_back(
        "the rotation is not known, so position-exact plasticity is not measured; pass `rope_config` (the model's "
        "config.json) or `rope_theta`, or `rope: none` for a model without rotation");
  }
  return prepared;
}

void tell_of_rows(const HeadOutcome& outcome, const RunObserver& observer, bool& said_no_examples) {
  const auto look = [&](const std::optional<FileRead>& read, const char* what) {
    if (!read) return;
    if (read->dropped_rows > 0) {
      observer.warning(fmt::format("layer {} q_head {}: dropped {} rows of the {} with NaN or infinity",
                                   outcome.head.layer, outcome.head.q_head, read->dropped_rows, what));
    }
    if (!read->has_examples && !std::exchange(said_no_examples, true)) {
      observer.warning(fmt::format("layer {} q_head {}: the {} have no example_id, so no key pairs can be formed",
                                   outcome.head.layer, outcome.head.q_head, what));
    }
  };
  look(outcome.queries, "queries");
  look(outcome.keys, "keys");
}

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
  const int workers = run.config.max_workers.value_or(usable_cores());

  std::vector<const ArrayHead*> all;
  all.reserve(heads.size());
  for (const ArrayHead& head : heads) all.push_back(&head);
  Outcomes ended(all.size());
  std::size_t count = 0;
  bool said_no_examples = false;
  ArrayPass(all, run.prepared, run.config, {}).run(workers, stop, [&](std::size_t i, HeadOutcome outcome) {
    const HeadOutcome& kept = ended[i].emplace(std::move(outcome));
    tell_of_rows(kept, observer, said_no_examples);
    observer.head_ended({kept.head, kept.measured ? &kept.measured->result : nullptr,
                         kept.failure ? &*kept.failure : nullptr, ++count, all.size()});
  });
  std::vector<HeadOutcome> outcomes;
  outcomes.reserve(count);
  for (std::optional<HeadOutcome>& outcome : ended) {
    if (outcome) outcomes.push_back(std::move(*outcome));
  }
  bool complete = count == all.size();
  std::optional<std::vector<std::uint64_t>> examples;
  if (complete && run.config.analysis.standard_errors) examples = common_examples(outcomes);
  if (examples) {
    const std::vector<std::size_t> again = without_common_groups(outcomes, *examples);
    std::vector<const ArrayHead*> others;
    others.reserve(again.size());
    for (const std::size_t i : again) others.push_back(all[i]);
    const std::string digest = examples_digest(*examples);
    std::size_t measured = 0;
    ArrayPass(others, run.prepared, run.config, *examples).run(workers, stop, [&](std::size_t i, HeadOutcome outcome) {
      if (!outcome.measured) return;
      outcomes[again[i]].common_groups = CommonGroups{digest, std::move(outcome.measured->without_group)};
      ++measured;
    });
    complete = measured == again.size();
  }
  // Files of arrays do not exist, and are not told of as such.
  std::uint64_t dropped = 0;
  for (HeadOutcome& outcome : outcomes) {
    if (outcome.queries) dropped += outcome.queries->dropped_rows;
    outcome.queries.reset();
    outcome.keys.reset();
  }
  run.run = gathered(std::move(outcomes), complete ? examples : std::nullopt);
  run.run.dropped_rows = dropped;
  run.run.interrupted = !complete;
  release_kept_memory();
  return run;
}

}  // namespace attention_plasticity::python
