#include "attention_plasticity/capture/llama/llama_context.h"

#include <fmt/format.h>
#include <llama.h>

#include <algorithm>
#include <optional>
#include <string>

#include "attention_plasticity/base/free_memory.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/capture/llama/llama_log.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// Linux hands out more memory than there is, and ends the process that uses it.
void check_memory(const LlamaModel& model, const ContextOptions& options) {
  // The part of the cache that lies on a device is not counted: the device says itself when it is full.
  const std::uint64_t needed =
      static_cast<std::uint64_t>(options.tokens) * model.cache_bytes(options.exact ? sizeof(float) : 2);
  const std::optional<std::uint64_t> there = free_memory();
  if (!there || needed <= *there) return;
  throw Error(ErrorKind::input,
              fmt::format("the keys and values of {} tokens take about {} of memory, and {} are free; pass a smaller "
                          "`max_length` or `batch_size`",
                          options.tokens, size_text(needed), size_text(*there)),
              model.file().string());
}

std::string with_reason(const std::string& message) {
  const std::string why = take_llama_error();
  return message + (why.empty() ? "" : ": ") + why;
}

}  // namespace

struct LlamaContext::State {
  struct Free {
    void operator()(llama_context* context) const { llama_free(context); }
  };

  std::unique_ptr<llama_context, Free> context;
  const GraphWatcher* watcher = nullptr;
  std::stop_token stop;

  static bool see(ggml_tensor* node, bool ask, void* self) {
    const GraphWatcher* const watcher = static_cast<State*>(self)->watcher;
    return watcher == nullptr ? !ask : watcher->see(node, ask);
  }
  static bool is_stopped(void* self) { return static_cast<State*>(self)->stop.stop_requested(); }
};

LlamaContext::LlamaContext(const LlamaModel& model, const ContextOptions& options)
    : model_(model), options_(options), state_(std::make_unique<State>()) {
  check_memory(model, options);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(options.tokens);
  params.n_batch = params.n_ubatch = batch_tokens;
  params.n_seq_max = static_cast<std::uint32_t>(options.texts);
  params.n_threads = params.n_threads_batch = options.threads;
  params.flash_attn_type = options.exact ? LLAMA_FLASH_ATTN_TYPE_DISABLED : LLAMA_FLASH_ATTN_TYPE_AUTO;
  params.type_k = params.type_v = options.exact ? GGML_TYPE_F32 : GGML_TYPE_F16;
  params.swa_full = true;  // a cell for every token, also where windows slide
  params.kv_unified = true;
  // With some layers on a GPU, libllama would compute large batches of the others there too. The keys of their
  // attention would be a copy and not the cache, and a graph that is ended early would choose experts by numbers that
  // are not computed, which aborts.
  params.op_offload = false;
  params.no_perf = true;
  params.cb_eval = State::see;
  params.cb_eval_user_data = state_.get();
  params.abort_callback = State::is_stopped;
  params.abort_callback_data = state_.get();
  take_llama_error();
  state_->context.reset(llama_init_from_model(model.get(), params));
  if (state_->context) return;
  throw Error(ErrorKind::input,
              with_reason(fmt::format("libllama cannot run this model with {} tokens at once; there may not be enough "
                                      "memory",
                                      options.tokens)),
              model.file().string());
}

LlamaContext::~LlamaContext() = default;

bool LlamaContext::decode(std::span<const std::int32_t> ids, std::span<const std::int32_t> positions,
                          std::span<const std::int32_t> texts) {
  if (state_->stop.stop_requested()) return false;
  llama_batch batch = llama_batch_init(static_cast<std::int32_t>(ids.size()), 0, 1);
  batch.n_tokens = static_cast<std::int32_t>(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    batch.token[i] = ids[i];
    batch.pos[i] = positions[i];
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = texts[i];
    batch.logits[i] = 0;  // nobody asks for the next token
  }
  take_llama_error();
  const int status = llama_decode(state_->context.get(), batch);
  llama_synchronize(state_->context.get());
  llama_batch_free(batch);
  if (status == 0) return true;
  if (state_->stop.stop_requested()) return false;
  throw Error(ErrorKind::input, with_reason(fmt::format("libllama cannot read the texts (status {})", status)),
              model_.file().string());
}

bool LlamaContext::read(std::span<const std::span<const std::int32_t>> texts, const GraphWatcher& watcher,
                        const std::stop_token& stop) {
  llama_memory_clear(llama_get_memory(state_->context.get()), false);
  state_->watcher = &watcher;
  state_->stop = stop;
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> numbers;
  for (std::size_t text = 0; text < texts.size(); ++text) {
    for (std::size_t position = 0; position < texts[text].size(); ++position) {
      ids.push_back(texts[text][position]);
      positions.push_back(static_cast<std::int32_t>(position));
      numbers.push_back(static_cast<std::int32_t>(text));
    }
  }
  for (std::size_t first = 0; first < ids.size(); first += batch_tokens) {
    const std::size_t count = std::min<std::size_t>(batch_tokens, ids.size() - first);
    watcher.batch(static_cast<int>(first), static_cast<int>(count), first + count == ids.size());
    if (!decode(std::span(ids).subspan(first, count), std::span(positions).subspan(first, count),
                std::span(numbers).subspan(first, count))) {
      return false;
    }
  }
  return true;
}

void LlamaContext::skim(std::span<const std::int32_t> text, int computed, const GraphWatcher& watcher) {
  llama_memory_clear(llama_get_memory(state_->context.get()), true);  // cells that are not computed hold zeros
  state_->stop = {};
  const std::size_t skipped = text.size() - static_cast<std::size_t>(computed);
  std::vector<std::int32_t> positions(text.size());
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int32_t>(i);
  const std::vector<std::int32_t> numbers(text.size(), 0);
  for (std::size_t first = 0; first < text.size();) {
    const std::size_t end = first < skipped ? std::min(skipped, first + batch_tokens) : text.size();
    const std::size_t count = end - first;
    // A watcher that sees the first node and says no ends the graph there.
    const GraphWatcher none{[](int, int, bool) {}, [](ggml_tensor*, bool ask) { return ask; }};
    state_->watcher = first < skipped ? &none : &watcher;
    state_->watcher->batch(static_cast<int>(first), static_cast<int>(count), end == text.size());
    decode(text.subspan(first, count), std::span(positions).subspan(first, count),
           std::span(numbers).subspan(first, count));
    first = end;
  }
}

}  // namespace attention_plasticity
