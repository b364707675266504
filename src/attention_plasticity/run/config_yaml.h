#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/run/config.h"
#include "attention_plasticity/run/config_fields.h"

namespace attention_plasticity {

/// The settings of a YAML file: one mapping from fields to values, in the file's order. An empty file has none.
/// Error(usage) naming file, line and key when the file cannot be read, is larger than 1 MiB or no YAML, has unknown
/// or repeated keys, or nests where a single value is due. Values are typed by resolve_config, or by whom the `fields`
/// belong to.
std::vector<Setting> read_yaml_settings(const std::string& file, std::span<const ConfigField> fields = config_fields());

/// The same from text; `name` stands for the file in messages and in Setting::where.
std::vector<Setting> parse_yaml_settings(std::string_view text, std::string_view name,
                                         std::span<const ConfigField> fields = config_fields());

/// YAML of every field of a resolved configuration; it resolves to the same configuration.
std::string config_text(const RunConfig& config);

}  // namespace attention_plasticity
