#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/settings/field.h"

namespace attention_plasticity {

/// The settings of a YAML file: one mapping from fields to values, in the file's order. An empty file has none. Values
/// stay text, which `resolve` types. Throws Error(usage), naming file, line and key, for a file that cannot be read, is
/// larger than 1 MiB or not YAML, for unknown and repeated keys, and for a list or mapping in place of a single value.
std::vector<Setting> read_yaml_settings(const std::string& file, const std::vector<Field>& fields);

/// The same from text; `name` stands for the file in messages and in Setting::where.
std::vector<Setting> parse_yaml_settings(std::string_view text, std::string_view name,
                                         const std::vector<Field>& fields);

/// A mapping in a list of a YAML file.
struct YamlEntry {
  std::string where;  ///< "sweep.yaml:12"
  std::vector<Setting> settings;
};

/// A YAML file of settings, one key of which holds a list of such mappings.
struct YamlList {
  std::vector<Setting> settings;  ///< beside the list
  std::vector<YamlEntry> entries;
};

/// Reads one. `list` is the key of the list, `fields` those beside it and `entry_fields` those of its items. Throws as
/// read_yaml_settings does, and Error(usage) when there is no such list, and when its items hold more than 1 MiB in
/// all, which takes aliases.
YamlList read_yaml_list(const std::string& file, const std::string& list, const std::vector<Field>& fields,
                        const std::vector<Field>& entry_fields);

/// A YAML mapping of the values, one line each. parse_yaml_settings reads the same values back.
std::string yaml_text(const std::vector<FieldValue>& values);

}  // namespace attention_plasticity
