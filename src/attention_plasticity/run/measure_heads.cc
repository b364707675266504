#include "attention_plasticity/run/measure_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attention_plasticity/base/memory_account.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/head_queue.h"

namespace attention_plasticity {
namespace {

std::string over_limit_text(const OverMemoryLimit& over) {
  return fmt::format(
      "this head needs at least {} of memory, and `memory_limit` is {}{}{}; raise `memory_limit`, or lower "
      "`max_tokens_per_head`",
      size_text(over.needed()), size_text(over.limit()), over.what_for().empty() ? "" : ": ", over.what_for());
}

// Measures the heads of one call of measure_heads.
class Measuring {
 public:
  Measuring(HeadSource& source, std::span<const HeadTask> tasks, const MeasureContext& context,
            const std::function<void(std::size_t, HeadOutcome)>& ended)
      : source_(source), context_(context), ended_(ended), tasks_(tasks.begin(), tasks.end()), places_(tasks.size()) {
    // Heads that share keys are measured one after the other.
    std::iota(places_.begin(), places_.end(), std::size_t{0});
    const auto by_keys = [&](std::size_t place) {
      const HeadId& head = tasks[place].head;
      return std::tuple(head.layer, head.k_head, head.q_head);
    };
    std::ranges::sort(places_, {}, by_keys);
    std::ranges::transform(places_, tasks_.begin(), [&](std::size_t place) { return tasks[place]; });
  }

  void run(int workers, const std::stop_token& stop) {
    QueueOptions options{workers, context_.config.memory_limit, {}, context_.held_bytes};
    if (source_.is_awaited()) {
      options.arrive = [this](const HeadTask& task) { return wait_for(task); };
    }
    for_each_head(
        tasks_, options, [this](const HeadTask& task) { return load_keys(task); },
        [this](std::size_t task, const LoadedKeys* keys, const std::exception_ptr& failure) {
          return finished(task, measure(tasks_[task], keys, failure));
        },
        stop);
  }

 private:
  TaskBytes wait_for(const HeadTask& task) {
    HeadTask waiting = task;
    source_.wait_for(waiting);
    if (waiting.width > 0 && has_model_width(waiting.width)) check_rotation(task.head.layer, waiting.width);
    return {waiting.query_bytes, waiting.key_bytes};
  }

  // A rotation that fits no head is wrong for all of them and ends the run, as it does when the files are there before.
  // One head of a wrong width ends itself only, so a second one must agree before any head has fitted.
  void check_rotation(int layer, std::size_t width) {
    if (!context_.rotation) return;
    try {
      context_.rotation->layer(layer, width);
      rotation_fits_ = true;
    } catch (const Error&) {
      if (!rotation_fits_ && misfit_width_ == width) throw;
      misfit_width_ = width;
    }
  }

  LoadedKeys load_keys(const HeadTask& task) {
    const HeadSide side = keys_of(task.head);
    try {
      SideRecord record;
      KeptRows rows = read(side, record);
      source_.release(side);
      return {orient_keys(std::move(rows), context_.config.analysis), std::move(record)};
    } catch (...) {
      source_.release(side);
      throw;
    }
  }

  bool has_model_width(std::size_t width) const {
    return !context_.model_width || width == static_cast<std::size_t>(context_.model_width->value);
  }

  KeptRows read(const HeadSide& side, SideRecord& record) {
    SourceRows content = source_.rows(side);
    const RowsView& rows = content.rows.view();
    if (!has_model_width(rows.width)) {
      throw Error(ErrorKind::input,
                  fmt::format("the vectors have {} components, but {} says that a head of the model has {}", rows.width,
                              context_.model_width->file, context_.model_width->value),
                  source_.file(side));
    }
    record.read = std::move(content.read);
    if (context_.checker != nullptr) record.evidence = context_.checker->measure(side, rows);
    return std::move(content.rows);
  }

  HeadOutcome measure(const HeadTask& task, const LoadedKeys* keys, const std::exception_ptr& key_failure) {
    HeadOutcome outcome;
    outcome.head = task.head;
    const HeadSide side = queries_of(task.head);
    const auto fail = [&](const std::string& file, const std::string& message) {
      outcome.failure = HeadFailure{task.head, file, message};
    };
    try {
      if (key_failure || keys == nullptr) std::rethrow_exception(key_failure);
      outcome.keys = keys->record;
      SideRecord record;
      KeptRows queries = read(side, record);
      source_.release(side);
      outcome.queries = std::move(record);
      outcome.measured = measured(task.head, std::move(queries), keys->keys);
    } catch (const Error& error) {
      // A failure of the store, not of the head.
      if (error.kind() == ErrorKind::network || error.kind() == ErrorKind::access) throw;
      fail(error.file().empty() ? source_.file(side) : error.file(), error.what());
    } catch (const OverMemoryLimit& over) {
      if (!key_failure) throw;  // it will be tried again
      fail(source_.file(side), over_limit_text(over));
    } catch (const std::bad_alloc&) {
      if (!key_failure && MemoryAccount::current() != nullptr && MemoryAccount::current()->refusal()) throw;
      fail(source_.file(side), "not enough memory for this head; lower `max_workers` or set `memory_limit`");
    } catch (const std::exception& error) {
      fail(source_.file(side), error.what());
    }
    return outcome;
  }

  MeasuredHead measured(const HeadId& head, KeptRows queries, const OrientedKeys& keys) const {
    std::optional<LayerRotation> layer;
    if (context_.rotation && context_.rotation->is_known_in(head.layer)) {
      layer = context_.rotation->layer(head.layer, queries.view().width);
    }
    const ConstantComponent constant =
        context_.config.compat == Compat::python ? ConstantComponent::fits : ConstantComponent::has_no_fit;
    return measure_head(head, std::move(queries), keys, context_.config.analysis,
                        {layer ? &layer->rotation : nullptr, &context_.groups, constant});
  }

  FinishedTask finished(std::size_t task, HeadOutcome outcome) {
    const std::uint64_t bytes = memory_of(outcome);
    const bool has_failed = outcome.failure.has_value();
    const auto shared = std::make_shared<HeadOutcome>(std::move(outcome));
    const auto deliver = [this, task, shared] {
      source_.finish(tasks_[task]);
      const std::scoped_lock lock(mutex_);
      ended_(places_[task], std::move(*shared));
    };
    return {deliver, bytes, has_failed};
  }

  HeadSource& source_;
  const MeasureContext& context_;
  const std::function<void(std::size_t, HeadOutcome)>& ended_;
  std::vector<HeadTask> tasks_;      // in the order of the queue
  std::vector<std::size_t> places_;  // of these in the caller's order
  std::mutex mutex_;                 // of ended_
  bool rotation_fits_ = false;       // a head that has arrived
  std::size_t misfit_width_ = 0;     // of the latest head that the rotation did not fit
};

}  // namespace

void measure_heads(HeadSource& source, std::span<const HeadTask> tasks, const MeasureContext& context, int workers,
                   const std::stop_token& stop,
                   const std::function<void(std::size_t task, HeadOutcome outcome)>& ended) {
  Measuring(source, tasks, context, ended).run(workers, stop);
}

}  // namespace attention_plasticity
