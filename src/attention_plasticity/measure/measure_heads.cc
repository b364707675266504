#include "attention_plasticity/measure/measure_heads.h"

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

#include "attention_plasticity/error.h"
#include "attention_plasticity/measure/head_queue.h"
#include "attention_plasticity/source/head_memory.h"

namespace attention_plasticity {
namespace {

// Measures the heads of one call of measure_heads.
class Measuring {
 public:
  Measuring(HeadSource& source, std::span<const HeadTask> tasks, const MeasureContext& context,
            const std::function<void(std::size_t, HeadOutcome)>& ended)
      : source_(source),
        context_(context),
        ended_(ended),
        tasks_(tasks.begin(), tasks.end()),
        places_(tasks.size()),
        result_limits_(tasks.size()) {
    const std::optional<std::uint64_t> limit = context.config.memory_limit;
    if (limit) memory_.emplace(*limit, std::max(context.heads_of_run, tasks.size()), source.own_bytes());
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
    QueueOptions options{.workers = workers};
    if (memory_) options.memory = QueueMemory{memory_->limit, memory_->most_of_head, held_bytes()};
    if (memory_ || source_.is_awaited()) options.arrive = [this](std::size_t task) { return wait_for(task); };
    std::vector<QueueTask> tasks(tasks_.size());
    for (std::size_t i = 1; i < tasks.size(); ++i) {
      const bool shares_keys = keys_of(tasks_[i].head).head == keys_of(tasks_[i - 1].head).head;
      tasks[i].key_group = tasks[i - 1].key_group + (shares_keys ? 0 : 1);
    }
    for_each_head<LoadedKeys>(
        tasks, options, [this](std::size_t task) { return load_keys(tasks_[task]); },
        [this](std::size_t task, const LoadedKeys* keys, const std::exception_ptr& failure) {
          return finish(task, measure(task, keys, failure));
        },
        stop);
  }

 private:
  std::uint64_t held_bytes() const { return context_.held_bytes + source_.own_bytes(); }

  TaskBytes wait_for(std::size_t number) {
    HeadTask waiting = tasks_[number];
    if (source_.is_awaited()) {
      source_.wait_for(waiting);
      if (waiting.width > 0 && has_model_width(waiting.width)) check_rotation(waiting.head.layer, waiting.width);
    }
    return memory_ ? bytes_of(number, *memory_) : TaskBytes{};
  }

  // The bounds of a head. Its result may take what they leave of its share.
  TaskBytes bytes_of(std::size_t number, const MemoryShares& memory) {
    const HeadId& head = tasks_[number].head;
    const AnalysisOptions& analysis = context_.config.analysis;
    const HeadFileSize queries = source_.size(queries_of(head));
    const HeadFileSize keys = source_.size(keys_of(head));
    const std::uint64_t beside =
        analysis_bytes(queries.rows, keys.rows, queries.width, analysis,
                       context_.rotation.has_value() && context_.rotation->is_known_in(head.layer));
    const auto with_result = [&](std::uint64_t most_result) {
      return task_bytes(row_bytes(queries, analysis), row_bytes(keys, analysis), beside, most_result);
    };
    const std::uint64_t most_result = memory.most_result(with_result(0));
    result_limits_[number] = ResultLimit{most_result, memory.limit};
    return with_result(most_result);
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
      const StatedNumber stated = context_.model_width.value_or(StatedNumber{});
      throw Error(ErrorKind::input,
                  fmt::format("the vectors have {} components, but {} says that a head of the model has {}", rows.width,
                              stated.file, stated.value),
                  source_.file(side));
    }
    record.read = std::move(content.read);
    if (context_.checker != nullptr) record.evidence = context_.checker->measure(side, rows);
    return std::move(content.rows);
  }

  HeadOutcome measure(std::size_t number, const LoadedKeys* keys, const std::exception_ptr& key_failure) {
    const HeadTask& task = tasks_[number];
    HeadOutcome outcome;
    outcome.head = task.head;
    const HeadSide side = queries_of(task.head);
    const auto fail = [&](const std::string& file, const std::string& message) {
      outcome.failure = HeadFailure{task.head, file, message};
    };
    try {
      if (key_failure || keys == nullptr) {
        source_.release(keys_of(task.head));  // keys of a head that does not fit are not loaded
        std::rethrow_exception(key_failure);
      }
      outcome.keys = keys->record;
      SideRecord record;
      KeptRows queries = read(side, record);
      source_.release(side);
      outcome.queries = std::move(record);
      outcome.measured = measured(number, std::move(queries), keys->keys);
    } catch (const Error& error) {
      // A failure of the store, not of the head.
      if (error.kind() == ErrorKind::network || error.kind() == ErrorKind::access) throw;
      fail(error.file().empty() ? source_.file(side) : error.file(), error.what());
    } catch (const std::bad_alloc&) {
      fail(source_.file(side), "not enough memory for this head; lower `max_workers` or set `memory_limit`");
    } catch (const std::exception& error) {
      fail(source_.file(side), error.what());
    }
    return outcome;
  }

  MeasuredHead measured(std::size_t number, KeptRows queries, const OrientedKeys& keys) const {
    const HeadId& head = tasks_[number].head;
    std::optional<LayerRotation> layer;
    if (context_.rotation && context_.rotation->is_known_in(head.layer)) {
      layer = context_.rotation->layer(head.layer, queries.view().width);
    }
    const ConstantComponent constant =
        context_.config.compat == Compat::python ? ConstantComponent::fits : ConstantComponent::has_no_fit;
    return measure_head(head, std::move(queries), keys, context_.config.analysis,
                        {layer ? &layer->rotation : nullptr, &context_.groups, constant, result_limits_[number]});
  }

  // Passes an outcome on, and returns the memory that it holds.
  std::uint64_t finish(std::size_t task, HeadOutcome outcome) {
    const std::uint64_t bytes = memory_of(outcome);
    source_.finish(tasks_[task]);
    const std::scoped_lock lock(mutex_);
    ended_(places_[task], std::move(outcome));
    return bytes;
  }

  HeadSource& source_;
  const MeasureContext& context_;
  const std::function<void(std::size_t, HeadOutcome)>& ended_;
  std::vector<HeadTask> tasks_;                            // in the order of the queue
  std::vector<std::size_t> places_;                        // of these in the caller's order
  std::optional<MemoryShares> memory_;                     // none: no limit
  std::vector<std::optional<ResultLimit>> result_limits_;  // of each task; set before its work begins
  std::mutex mutex_;                                       // of ended_
  bool rotation_fits_ = false;                             // a head that has arrived
  std::size_t misfit_width_ = 0;                           // of the latest head that the rotation did not fit
};

}  // namespace

void measure_heads(HeadSource& source, std::span<const HeadTask> tasks, const MeasureContext& context, int workers,
                   const std::stop_token& stop,
                   const std::function<void(std::size_t task, HeadOutcome outcome)>& ended) {
  Measuring(source, tasks, context, ended).run(workers, stop);
}

}  // namespace attention_plasticity
