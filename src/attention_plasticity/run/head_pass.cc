#include "attention_plasticity/run/head_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "attention_plasticity/base/memory_account.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/dump/head_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/run/read_options.h"

namespace attention_plasticity {

std::string over_limit_text(const OverMemoryLimit& over) {
  return fmt::format(
      "this head needs at least {} of memory, and `memory_limit` is {}{}{}; raise `memory_limit`, or lower "
      "`max_tokens_per_head`",
      size_text(over.needed()), size_text(over.limit()), over.what_for().empty() ? "" : ": ", over.what_for());
}

HeadPass::HeadPass(std::span<const HeadTask> tasks, Context context, Ended ended)
    : tasks_(tasks), context_(context), ended_(std::move(ended)) {}

namespace {

// A quarter of the memory of a run is for files that are fetched before they are read.
constexpr std::uint64_t fetched_share = 4;

ReadAhead::Options ahead_options(const RunConfig& config) {
  ReadAhead::Options options{.read = read_options(config)};
  if (!config.memory_limit) return options;
  options.most_bytes = std::min(options.most_bytes, *config.memory_limit / fetched_share);
  // Its reader counts it.
  options.exceeds_for_readers = false;
  return options;
}

}  // namespace

void HeadPass::release(const std::filesystem::path& file) {
  if (ahead_) ahead_->release(file);
}

void HeadPass::run(int workers, const std::stop_token& stop, const HeadArrival& arrive) {
  QueueOptions options{workers, context_.config.memory_limit, {}, context_.held_bytes};
  if (arrive) options.arrive = [&](const HeadTask& task) { return after_arrival(task, arrive); };
  if (files().are_remote()) {
    const ReadAhead::Options how = ahead_options(context_.config);
    ahead_ = std::make_unique<ReadAhead>(files(), files_of(tasks_), how, stop);
    if (options.memory_limit) options.held_bytes += how.most_bytes;
    options.arrive = [this](const HeadTask& task) {
      return after_arrival(task, [this](const HeadTask& arriving) {
        ahead_->wait_for(arriving.key_file);
        ahead_->wait_for(arriving.query_file);
      });
    };
  }
  const std::shared_ptr<void> ended(nullptr, [this](void*) { ahead_.reset(); });
  for_each_head(
      tasks_, options, [this](const HeadTask& task) { return load_keys(task); },
      [this](std::size_t task, const LoadedKeys* keys, const std::exception_ptr& failure) {
        return finished(task, analyse(tasks_[task], keys, failure));
      },
      stop);
}

FinishedTask HeadPass::finished(std::size_t task, HeadOutcome outcome) {
  // Of a head that is measured again, only the values without each group stay.
  const bool is_again = !context_.jackknife_examples.empty();
  const std::uint64_t bytes = is_again ? sizeof(WithoutGroup) : memory_of(outcome);
  const bool has_failed = outcome.failure.has_value();
  const auto shared = std::make_shared<HeadOutcome>(std::move(outcome));
  const auto deliver = [this, task, shared] {
    const std::scoped_lock lock(mutex_);
    ended_(task, std::move(*shared));
  };
  return {deliver, bytes, has_failed};
}

TaskBytes HeadPass::after_arrival(const HeadTask& task, const HeadArrival& arrive) {
  arrive(task);
  HeadTask measured = task;
  measure_files(measured, context_.config, files());
  if (measured.width > 0 && has_model_width(measured.width)) check_rotation(task.head.layer, measured.width);
  return {measured.query_bytes, measured.key_bytes};
}

// A rotation that fits no head is wrong for all of them and ends the run, as it does when the files are there before.
// One head of a wrong width ends itself only, so a second one must say the same before any head has fitted.
void HeadPass::check_rotation(int layer, std::size_t width) {
  const std::optional<DumpRotation>& rotation = context_.prepared.rotation;
  if (!rotation) return;
  try {
    rotation->layer(layer, width);
    const std::scoped_lock lock(mutex_);
    rotation_fits_ = true;
  } catch (const Error&) {
    const std::scoped_lock lock(mutex_);
    if (rotation_fits_ || misfit_width_ != width) {
      misfit_width_ = width;
      return;
    }
    throw;
  }
}

LoadedKeys HeadPass::load_keys(const HeadTask& task) {
  // A dangling link was captured: reading it tells what is wrong.
  if (!files().exists(task.key_file)) {
    throw Error(ErrorKind::input,
                fmt::format("key head {} of layer {}, which this head reads, was not captured", task.head.k_head,
                            task.head.layer),
                task.key_file.string());
  }
  const std::shared_ptr<void> released(nullptr, [&](void*) { release(task.key_file); });
  FileRead file_read;
  HeadFile file = read(task, Side::key, file_read);
  return {orient_keys(KeptRows(std::move(file.rows)), context_.config.analysis), std::move(file_read)};
}

bool HeadPass::has_model_width(std::size_t width) const {
  const std::optional<StatedNumber>& stated = context_.prepared.model_width;
  return !stated || width == static_cast<std::size_t>(stated->value);
}

HeadFile HeadPass::read(const HeadTask& task, Side side, FileRead& read) {
  const bool of_keys = side == Side::key;
  const std::filesystem::path& file = of_keys ? task.key_file : task.query_file;
  const HeadKey head{task.head.layer, of_keys ? task.head.k_head : task.head.q_head};
  ReadOptions options = read_options(context_.config);
  options.expected = of_keys ? task.key_identity : task.query_identity;
  HeadFile content = read_head_file(files().open(file), side, options);
  if (!has_model_width(content.rows.width)) {
    const StatedNumber stated = context_.prepared.model_width.value_or(StatedNumber{});
    throw Error(ErrorKind::input,
                fmt::format("the vectors have {} components, but {} says that a head of the model has {}",
                            content.rows.width, stated.file, stated.value),
                file.string());
  }
  read = {content.input, content.dropped_rows, !content.rows.example.empty(), {}};
  if (context_.evidence != nullptr) read.evidence = context_.evidence->add(side, head, content.rows);
  const std::scoped_lock lock(mutex_);
  // A head that needs more memory than is free is read again.
  if (read.dropped_rows > 0 && said_dropped_.insert(file).second) {
    context_.observer.warning(fmt::format("{}: dropped {} of {} rows with NaN or infinity", file.string(),
                                          read.dropped_rows, read.dropped_rows + content.rows.size()));
  }
  if (!read.has_examples) warn_of_no_examples(file, side);
  return content;
}

// Once; queries are only worth it when their keys do name examples.
void HeadPass::warn_of_no_examples(const std::filesystem::path& file, Side side) {
  const bool of_keys = side == Side::key;
  if (said_no_key_examples_ || (said_no_query_examples_ && !of_keys)) return;
  (of_keys ? said_no_key_examples_ : said_no_query_examples_) = true;
  context_.observer.warning(
      fmt::format("{}: {}{}", file.string(), no_examples_text,
                  of_keys ? "no key pairs can be formed" : "every query counts as an example of its own"));
}

HeadOutcome HeadPass::analyse(const HeadTask& task, const LoadedKeys* keys, const std::exception_ptr& key_failure) {
  // Whatever becomes of the head, its file makes room for others.
  const std::shared_ptr<void> released(nullptr, [&](void*) { release(task.query_file); });
  HeadOutcome outcome;
  outcome.head = task.head;
  const auto fail = [&](const std::string& file, const std::string& message) {
    outcome.failure = HeadFailure{task.head, file, message};
  };
  try {
    if (key_failure || keys == nullptr) std::rethrow_exception(key_failure);
    outcome.keys = keys->read;
    measure(task, *keys, outcome);
  } catch (const Error& error) {
    // The store's failure, not the head's.
    if (error.kind() == ErrorKind::network || error.kind() == ErrorKind::access) throw;
    fail(error.file().empty() ? task.query_file.string() : error.file(), error.what());
  } catch (const OverMemoryLimit& over) {
    if (!key_failure) throw;  // it will be tried again
    fail(task.query_file.string(), over_limit_text(over));
  } catch (const std::bad_alloc&) {
    if (!key_failure && MemoryAccount::current() != nullptr && MemoryAccount::current()->refusal()) throw;
    fail(task.query_file.string(), "not enough memory for this head; lower `max_workers` or set `memory_limit`");
  } catch (const std::exception& error) {
    fail(task.query_file.string(), error.what());
  }
  return outcome;
}

void HeadPass::measure(const HeadTask& task, const LoadedKeys& keys, HeadOutcome& outcome) {
  FileRead queries_read;
  HeadFile file = read(task, Side::query, queries_read);
  release(task.query_file);
  outcome.queries = std::move(queries_read);
  outcome.measured = measure(task, std::move(file.rows), keys.keys);
}

MeasuredHead HeadPass::measure(const HeadTask& task, HeadRows queries, const OrientedKeys& keys) const {
  const std::optional<DumpRotation>& rotation = context_.prepared.rotation;
  std::optional<LayerRotation> layer;
  if (rotation && rotation->is_known_in(task.head.layer)) layer = rotation->layer(task.head.layer, queries.width);
  const ConstantComponent constant =
      context_.config.compat == Compat::python ? ConstantComponent::fits : ConstantComponent::has_no_fit;
  return measure_head(task.head, KeptRows(std::move(queries)), keys, context_.config.analysis,
                      {layer ? &layer->rotation : nullptr, context_.jackknife_examples, constant});
}

}  // namespace attention_plasticity
