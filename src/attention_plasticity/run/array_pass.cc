#include "attention_plasticity/run/array_pass.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "attention_plasticity/base/finite.h"
#include "attention_plasticity/base/memory_account.h"
#include "attention_plasticity/base/stop_scope.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/head_queue.h"

namespace attention_plasticity {
namespace {

// Rows without those that hold a NaN or an infinity; none when there are no such rows.
std::optional<HeadRows> without_non_finite(const RowsView& rows) {
  std::vector<std::size_t> kept;
  kept.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    throw_if_stopped_at(i);
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

}  // namespace

const char* side_text(Side side) { return side == Side::query ? "queries" : "keys"; }

KeptRows kept_array_rows(const RowsView& rows, Side side, const RunConfig& config, FileRead& read) {
  const std::string_view what = side_text(side);
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

ArrayPass::ArrayPass(std::span<const ArrayHead* const> heads, const PreparedRun& prepared, const RunConfig& config,
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

void ArrayPass::run(int workers, std::uint64_t held_bytes, const std::stop_token& stop,
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

KeptRows ArrayPass::rows(const RowsView& given, Side side, const HeadKey& head, FileRead& read) const {
  KeptRows kept = kept_array_rows(given, side, config_, read);
  if (evidence_ != nullptr) read.evidence = evidence_->add(side, head, kept.view());
  return kept;
}

LoadedKeys ArrayPass::load(const HeadTask& task) const {
  FileRead read;
  KeptRows kept = rows(at(task).head->keys, Side::key, {task.head.layer, task.head.k_head}, read);
  return {orient_keys(std::move(kept), config_.analysis), std::move(read)};
}

HeadOutcome ArrayPass::analyse(const ArrayHead& head, const LoadedKeys* keys,
                               const std::exception_ptr& key_failure) const {
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

}  // namespace attention_plasticity
