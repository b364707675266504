#pragma once

#include <string>
#include <vector>

#include "attention_plasticity/options/config.h"
#include "attention_plasticity/settings/field.h"

namespace attention_plasticity {

/// All fields of RunConfig, in its order: the one table behind YAML files, flags, help and run.json.
const FieldTable<RunConfig>& config_table();

/// The same fields, without their bindings.
const std::vector<Field>& config_fields();

/// Every field of a resolved configuration, in the order of config_table(). As settings they resolve to the same
/// configuration: outputs below `output_dir` are therefore named relative to it.
std::vector<FieldValue> resolved_fields(const RunConfig& config);

/// The same as YAML.
std::string config_text(const RunConfig& config);

}  // namespace attention_plasticity
