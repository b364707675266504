#include "attention_plasticity/capture/llama/llama_source.h"

#include <fmt/format.h>
#include <llama.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "attention_plasticity/base/free_memory.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/usable_cores.h"
#include "attention_plasticity/capture/llama/attention_tap.h"
#include "attention_plasticity/capture/llama/graph_reader.h"
#include "attention_plasticity/capture/llama/llama_config.h"
#include "attention_plasticity/capture/llama/model_probe.h"
#include "attention_plasticity/capture/position_sampler.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

int allowed_length(const LlamaModel& model, std::optional<int> asked) {
  const int limit = model.trained_length();
  if (!asked) return limit > 0 ? std::min(LlamaSource::usual_length, limit) : LlamaSource::usual_length;
  if (limit > 0 && *asked > limit) {
    throw Error(ErrorKind::usage, fmt::format("`max_length: {}`: the model takes {} tokens", *asked, limit));
  }
  return *asked;
}

// libllama rounds the tokens of a context up.
constexpr std::size_t context_step = 256;

// Texts of `longest` tokens that may be read at once, in a context of `least` tokens or more. Where one text alone
// takes the short factors of LongRoPE, so must several: libllama chooses by the tokens of the context.
std::size_t most_texts(std::size_t longest, std::size_t least, std::size_t unstretched) {
  const std::size_t short_tokens = unstretched / context_step * context_step;
  const std::size_t limit = std::max(longest, least) <= short_tokens ? short_tokens : std::numeric_limits<int>::max();
  return std::max<std::size_t>(1, limit / longest);
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
  settings.max_length = allowed_length(model_, settings.max_length);
  tokenize(options, static_cast<std::size_t>(*settings.max_length));
  texts_digest_ = digest_of(documents_);
  std::vector<std::size_t> lengths;
  lengths.reserve(documents_.size());
  for (const std::vector<std::int32_t>& document : documents_) lengths.push_back(document.size());
  require_two_buckets(settings, lengths);
  context_ = std::make_unique<LlamaContext>(model_, context_options(options));
  layers_ = probed_layers(model_, *context_, static_cast<int>(longest_document()));
  reader_ = std::make_unique<RowReader>();
  captured_.name = model_.name();
  captured_.source = options.texts;
  captured_.config =
      config_text(layers_, {model_.architecture(), llama_version(), model_.trained_length(), options.exact});
  captured_.layers.reserve(layers_.size());
  for (const AttentionLayer& layer : layers_) captured_.layers.push_back(layer.shape());
  captured_.weights = model_.digest();
  chosen_heads(settings, captured_);
}

LlamaSource::~LlamaSource() = default;

void LlamaSource::tokenize(const LlamaSourceOptions& options, std::size_t max_length) {
  for (const Text& text : std::exchange(texts_, {})) {
    if (text.text.size() > LlamaModel::longest_text) {
      throw Error(ErrorKind::input,
                  fmt::format("the text has {}, and libllama takes at most {}; make several texts of it",
                              size_text(text.text.size()), size_text(LlamaModel::longest_text)),
                  text.place);
    }
    const std::vector<std::int32_t> ids = model_.tokens(text.text, options.chat_template);
    if (ids.empty()) throw Error(ErrorKind::input, "the text has no tokens; leave it out", text.place);
    for (const TokenRange& range : documents_of(ids.size(), max_length, options.long_texts)) {
      documents_.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(range.begin),
                              ids.begin() + static_cast<std::ptrdiff_t>(range.end));
      if (documents_.size() == options.text_options.max_documents) return;
    }
  }
}

std::size_t LlamaSource::longest_document() const {
  std::size_t longest = 0;
  for (const std::vector<std::int32_t>& document : documents_) longest = std::max(longest, document.size());
  return longest;
}

ContextOptions LlamaSource::context_options(const LlamaSourceOptions& options) const {
  ContextOptions context;
  context.exact = options.exact;
  context.threads = options.threads.value_or(usable_cores());
  // Layers with a state of their own, rather than keys, take the tokens of several texts in another order.
  const bool has_states = llama_model_is_recurrent(model_.get()) || llama_model_is_hybrid(model_.get());
  const std::size_t longest = longest_document();
  const std::size_t least = std::max<std::size_t>(
      AttentionLabels::document_tokens, static_cast<std::size_t>(tokens_to_probe(model_, static_cast<int>(longest))));
  const std::size_t most =
      std::min({llama_max_parallel_sequences(), documents_.size(),
                most_texts(longest, least, static_cast<std::size_t>(model_.unstretched_length()))});
  context.texts = has_states ? 1 : static_cast<int>(std::clamp<std::size_t>(options.batch_size, 1, most));
  context.tokens = static_cast<int>(std::max(longest * static_cast<std::size_t>(context.texts), least));
  return context;
}

void LlamaSource::check_memory(const std::map<int, WantedRows>& wanted) const {
  std::uint64_t held = 0;    // queries of all layers
  std::uint64_t handed = 0;  // queries and keys of one layer, when they are handed over
  for (const auto& [layer, rows] : wanted) {
    const std::uint64_t vector = layers_.at(static_cast<std::size_t>(layer)).width * sizeof(float);
    const std::uint64_t queries = rows.q_heads.size() * rows.q_tokens.size() * vector;
    held += queries;
    handed = std::max(handed, queries + rows.k_heads.size() * rows.k_tokens.size() * vector);
  }
  const std::uint64_t needed = held + handed;
  const std::optional<std::uint64_t> there = free_memory();
  if (!there || needed <= *there) return;
  throw Error(ErrorKind::input,
              fmt::format("the rows of the texts that are read at once take {} of memory, and {} are free; pass fewer "
                          "`layers`, another `sampling`, or a smaller `rows_per_bucket`, `max_length` or `batch_size`",
                          size_text(needed), size_text(*there)),
              model_.file().string());
}

bool LlamaSource::read(std::span<const std::span<const std::int32_t>> texts, std::map<int, WantedRows> wanted,
                       const DeliverRows& deliver, const std::stop_token& stop) {
  AttentionTap tap(layers_, *reader_, deliver);
  tap.begin(std::move(wanted));
  const GraphWatcher watcher{[&](int first, int count, bool is_last) { tap.batch(first, count, is_last); },
                             [&](ggml_tensor* node, bool ask) { return tap.see(node, ask); }};
  if (!context_->read(texts, watcher, stop)) return false;
  tap.check();
  return true;
}

}  // namespace attention_plasticity
