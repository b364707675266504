#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "attention_plasticity/cli/engine_process.h"
#include "attention_plasticity/settings/field.h"

namespace attention_plasticity {

/// Who measures the heads.
struct EngineFlags {
  std::size_t engine = 0;  ///< 0: this program, 1: Ray
  std::optional<std::string> address;
};

const FieldTable<EngineFlags>& engine_table();

/// The engine that the flags ask for, ready to measure; null: this program measures. Throws Error(usage) when the flags
/// contradict each other or there is no Python package, and as EngineProcess does.
std::unique_ptr<EngineProcess> started_engine(const EngineFlags& flags, const std::stop_token& stop);

/// Its function.
Engine function_of(EngineProcess& engine);

}  // namespace attention_plasticity
