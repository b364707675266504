#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/settings/field.h"

namespace attention_plasticity::python {

/// Names of fields and their values as text, none for null: the keyword arguments of a call.
using NamedTexts = std::vector<std::pair<std::string, std::optional<std::string>>>;

inline std::vector<Setting> settings_of(const NamedTexts& options) {
  std::vector<Setting> settings;
  settings.reserve(options.size());
  for (const auto& [name, text] : options) settings.push_back({name, text, ""});
  return settings;
}

/// Every field of a table, as a list of dicts: name, type, help, default (as text; None for null), default_text (for
/// people), group.
template <class Options>
nanobind::list list_of_fields(const FieldTable<Options>& table) {
  nanobind::list fields;
  const Options defaults;
  for (const TypedField<Options>& field : table) {
    nanobind::dict entry;
    entry["name"] = field.name;
    entry["type"] = field.type_text();
    entry["help"] = field.help;
    entry["default"] = field.get(defaults);
    entry["default_text"] = field.default_text;
    entry["group"] = field.group;
    fields.append(entry);
  }
  return fields;
}

}  // namespace attention_plasticity::python
