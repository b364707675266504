#include "attention_plasticity/base/memory_limit.h"

#include <fmt/format.h>

#include "attention_plasticity/base/text.h"

namespace attention_plasticity {

Error over_memory_limit(std::uint64_t needed, std::uint64_t memory_limit, const std::string& what_for) {
  return {
      ErrorKind::input,
      fmt::format("this head needs up to {} of memory, and `memory_limit` is {}{}{}; raise `memory_limit`, or lower "
                  "`max_tokens_per_head`",
                  size_text(needed), size_text(memory_limit), what_for.empty() ? "" : ": ", what_for)};
}

}  // namespace attention_plasticity
