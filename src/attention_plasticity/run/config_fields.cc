#include "attention_plasticity/run/config_fields.h"

#include <fmt/format.h>

#include <utility>

#include "attention_plasticity/base/nearest_name.h"
#include "attention_plasticity/run/config_table.h"

namespace attention_plasticity {

std::span<const ConfigField> config_fields() {
  static const std::vector<ConfigField> fields = [] {
    std::vector<ConfigField> all;
    for (const FieldRule& rule : field_rules()) {
      all.push_back({rule.name, rule.type_text, rule.default_text, rule.help, rule.type == FieldType::boolean});
    }
    return all;
  }();
  return fields;
}

std::string field_suggestion(std::string_view name, std::string_view prefix, std::span<const ConfigField> fields) {
  std::vector<std::string_view> names;
  names.reserve(fields.size());
  for (const ConfigField& field : fields) names.push_back(field.name);
  const std::optional<std::string> meant = nearest_name(name, names);
  return meant ? fmt::format("; did you mean {}{}?", prefix, *meant) : std::string();
}

std::vector<ResolvedField> resolved_fields(const RunConfig& config) {
  std::vector<ResolvedField> fields;
  for (const FieldRule& rule : field_rules()) {
    ResolvedField field = rule.get(config);
    field.name = rule.name;
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace attention_plasticity
