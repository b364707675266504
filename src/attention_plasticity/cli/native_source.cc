#include "attention_plasticity/cli/native_source.h"

#include <fmt/format.h>

#include <cstdlib>

#include "attention_plasticity/capture/llama/llama_log.h"
#include "attention_plasticity/cli/model_flags.h"
#include "attention_plasticity/cli/terminal.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

// libllama ends the process where it finds itself in a state that it does not know.
void tell_of_abort(const char* message) {
  tell_failure(fmt::format("attention-plasticity: libllama has given up: {}", message), Terminal::of_standard_error());
  std::_Exit(exit_code(ErrorKind::input));
}

LlamaSourceOptions source_options(const Arguments& arguments) {
  const TextFlags texts = options_of(text_table(), arguments);
  const NativeFlags native = options_of(native_table(), arguments);
  LlamaSourceOptions options;
  options.model = arguments.value("model").value_or("");
  options.texts = texts.texts.value_or("");
  if (texts.text_field) options.text_options.field = *texts.text_field;
  if (texts.max_documents) options.text_options.max_documents = static_cast<std::size_t>(*texts.max_documents);
  options.long_texts = texts.long_texts == 0 ? LongTexts::cut : LongTexts::chunk;
  options.chat_template = texts.chat_template;
  options.batch_size = static_cast<std::size_t>(texts.batch_size.value_or(1));
  options.threads = native.threads;
  options.gpu_layers = native.gpu_layers;
  options.exact = native.exact;
  return options;
}

}  // namespace

NativeStop::NativeStop() : signals_([this] { on_signal(); }) {}

void NativeStop::begin() {
  const std::scoped_lock lock(mutex_);
  has_begun_ = true;
}

void NativeStop::on_signal() {
  const std::scoped_lock lock(mutex_);  // held to the end, so that nothing begins meanwhile
  if (has_begun_) return;
  tell("attention-plasticity: interrupted before anything was written\n");
  std::_Exit(128 + signals_.signal());
}

LlamaSource native_source(const Arguments& arguments, CaptureSettings& settings) {
  set_llama_abort(tell_of_abort);
  return {source_options(arguments), settings};
}

void ReadingDisplay::show(const CapturedSoFar& now) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  tokens_ = now.tokens;
  last_shown_ = seconds;
  const double rate = seconds > 0 ? static_cast<double>(now.tokens) / seconds : 0;
  std::string figures = fmt::format("{}/{} documents, {:.0f} tokens/s", now.documents, now.all_documents, rate);
  if (now.tokens_left > 0 && rate > 0) {
    figures += fmt::format(", {} left", duration_text(static_cast<double>(now.tokens_left) / rate));
  }
  const auto all = static_cast<double>(now.tokens + now.tokens_left);
  progress_.show(static_cast<double>(now.tokens) / all, figures);
  // Lines of a log come at most every few seconds.
  constexpr double pause = 5;
  if (now.tokens_left > 0 && seconds - last_line_ < pause) return;
  last_line_ = seconds;
  progress_.line(figures);
}

std::string ReadingDisplay::summary() const {
  if (tokens_ == 0) return "";
  const double rate = last_shown_ > 0 ? static_cast<double>(tokens_) / last_shown_ : 0;
  return fmt::format("{} tokens read, {:.0f} tokens/s", tokens_, rate);
}

std::optional<AttentionLabels> native_labels(LlamaSource& source, Progress& progress, const std::stop_token& stop) {
  if (label_documents(source) < AttentionLabels::least_documents) {
    progress.warning(fmt::format("fewer than {} documents have {} tokens, so labels that need them are empty",
                                 AttentionLabels::least_documents, AttentionLabels::document_tokens));
  }
  return label_heads(
      source,
      [&](std::size_t done, std::size_t all) {
        progress.show(static_cast<double>(done) / static_cast<double>(all), fmt::format("{}/{} labels", done, all));
      },
      stop);
}

}  // namespace attention_plasticity
