#include "attention_plasticity/capture/llama/llama_source.h"

#include <fmt/format.h>
#include <llama.h>

#include <algorithm>
#include <utility>

#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/capture/llama/attention_tap.h"
#include "attention_plasticity/capture/llama/llama_config.h"
#include "attention_plasticity/capture/llama/model_probe.h"
#include "attention_plasticity/capture/position_sampler.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

int longest_document(const LlamaModel& model, std::optional<int> asked) {
  const int limit = model.trained_length();
  if (!asked) return limit > 0 ? std::min(LlamaSource::usual_length, limit) : LlamaSource::usual_length;
  if (limit > 0 && *asked > limit) {
    throw Error(ErrorKind::usage, fmt::format("`max_length: {}`: the model takes {} tokens", *asked, limit));
  }
  return *asked;
}

std::string digest_of(const std::vector<std::vector<std::int32_t>>& documents) {
  std::vector<std::vector<std::int64_t>> wide;
  wide.reserve(documents.size());
  for (const std::vector<std::int32_t>& document : documents) wide.emplace_back(document.begin(), document.end());
  return documents_digest(wide);
}

}  // namespace

LlamaSource::LlamaSource(const LlamaSourceOptions& options, CaptureSettings& settings)
    : texts_(read_texts(options.texts, options.text_options)), model_(options.model, options.gpu_layers) {
  settings.max_length = longest_document(model_, settings.max_length);
  tokenize(options, static_cast<std::size_t>(*settings.max_length));
  texts_digest_ = digest_of(documents_);
  std::vector<std::size_t> lengths;
  lengths.reserve(documents_.size());
  for (const std::vector<std::int32_t>& document : documents_) lengths.push_back(document.size());
  require_two_buckets(settings, lengths);
  context_ = std::make_unique<LlamaContext>(model_, context_options(options));
  layers_ = probed_layers(model_, *context_);
  captured_.name = model_.name();
  captured_.source = options.texts;
  captured_.config =
      config_text(layers_, {model_.architecture(), llama_version(), model_.trained_length(), options.exact});
  captured_.layers.reserve(layers_.size());
  for (const AttentionLayer& layer : layers_) captured_.layers.push_back(layer.shape());
  chosen_heads(settings, captured_);
}

void LlamaSource::tokenize(const LlamaSourceOptions& options, std::size_t max_length) {
  for (const Text& text : std::exchange(texts_, {})) {
    const std::vector<std::int32_t> ids = model_.tokens(text.text, options.chat_template);
    if (ids.empty()) throw Error(ErrorKind::input, "the text has no tokens; leave it out", text.place);
    for (const TokenRange& range : documents_of(ids.size(), max_length, options.long_texts)) {
      documents_.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(range.begin),
                              ids.begin() + static_cast<std::ptrdiff_t>(range.end));
      if (documents_.size() == options.text_options.max_documents) return;
    }
  }
}

ContextOptions LlamaSource::context_options(const LlamaSourceOptions& options) const {
  ContextOptions context;
  context.exact = options.exact;
  context.threads = options.threads.value_or(usable_cores());
  // Layers with a state of their own, rather than keys, take the tokens of several texts in another order.
  const bool has_states = llama_model_is_recurrent(model_.get()) || llama_model_is_hybrid(model_.get());
  const std::size_t most = std::min(llama_max_parallel_sequences(), documents_.size());
  context.texts = has_states ? 1 : static_cast<int>(std::clamp<std::size_t>(options.batch_size, 1, most));
  std::size_t longest = AttentionLabels::document_tokens;
  for (const std::vector<std::int32_t>& document : documents_) longest = std::max(longest, document.size());
  context.tokens = std::max(static_cast<int>(longest) * context.texts, tokens_to_probe(model_));
  return context;
}

bool LlamaSource::read(std::span<const std::span<const std::int32_t>> texts, std::map<int, WantedRows> wanted,
                       const DeliverRows& deliver, const std::stop_token& stop) {
  AttentionTap tap(layers_, deliver);
  tap.begin(std::move(wanted));
  const GraphWatcher watcher{[&](int first, int count, bool is_last) { tap.batch(first, count, is_last); },
                             [&](ggml_tensor* node, bool ask) { return tap.see(node, ask); }};
  if (!context_->read(texts, watcher, stop)) return false;
  tap.check();
  return true;
}

}  // namespace attention_plasticity
