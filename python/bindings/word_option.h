#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "attention_plasticity/error.h"
#include "attention_plasticity/settings/value_kind.h"

namespace attention_plasticity::python {

/// The index of a word. Throws Error(usage), which names the option, when it is none of these words.
inline std::size_t word_option(const char* option, std::string_view word, std::span<const std::string_view> words) {
  try {
    return word_index(word, words);
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, std::string("`") + option + "`: " + error.what());
  }
}

}  // namespace attention_plasticity::python
