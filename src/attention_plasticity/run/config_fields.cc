#include "attention_plasticity/run/config_fields.h"

#include <utility>

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
