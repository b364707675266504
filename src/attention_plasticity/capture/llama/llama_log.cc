#include "attention_plasticity/capture/llama/llama_log.h"

#include <ggml-backend.h>
#include <llama.h>

#include <mutex>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

struct Log {
  std::mutex mutex;
  std::string line;         // so far
  std::string first_error;  // whole
  bool is_error = false;
};

Log& the_log() {
  static Log log;
  return log;
}

// Lines may come in pieces, of which the first one has the level.
void keep(ggml_log_level level, const char* text, void* /*unused*/) {
  Log& log = the_log();
  const std::scoped_lock lock(log.mutex);
  if (level != GGML_LOG_LEVEL_CONT) log.is_error = level == GGML_LOG_LEVEL_ERROR;
  for (const char* at = text; *at != '\0'; ++at) {
    if (*at != '\n') {
      log.line.push_back(*at);
      continue;
    }
    // The first error is the cause; those after it say what could not be done.
    if (log.is_error && log.first_error.empty()) log.first_error = trimmed_text(log.line);
    log.line.clear();
  }
}

void check_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) return;
  throw Error(ErrorKind::input, "GGUF models are run with AVX2 instructions, which this processor does not have");
#endif
}

}  // namespace

void prepare_llama() {
  static const bool prepared = [] {
    check_processor();
    llama_log_set(keep, nullptr);
    ggml_backend_load_all();
    llama_backend_init();
    return true;
  }();
  static_cast<void>(prepared);
}

void set_llama_abort(void (*handler)(const char* message)) { ggml_set_abort_callback(handler); }

std::string take_llama_error() {
  Log& log = the_log();
  const std::scoped_lock lock(log.mutex);
  return std::exchange(log.first_error, {});
}

}  // namespace attention_plasticity
