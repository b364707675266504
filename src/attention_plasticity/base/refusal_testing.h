#pragma once

#include <string>

#include "attention_plasticity/error.h"

namespace attention_plasticity {

/// For tests: the Error that `act` throws, as "input: a.csv: message"; "nothing" if it throws nothing.
template <typename Act>
std::string refusal(Act&& act) {
  try {
    act();
  } catch (const Error& error) {
    const std::string kind = error.kind() == ErrorKind::usage ? "usage: " : "input: ";
    return kind + (error.file().empty() ? "" : error.file() + ": ") + error.what();
  }
  return "nothing";
}

}  // namespace attention_plasticity
