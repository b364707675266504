#include "attention_plasticity/settings/field.h"

#include <fmt/format.h>

#include "attention_plasticity/base/nearest_name.h"

namespace attention_plasticity {

bool Field::applies_to(std::string_view word) const {
  return scope.empty() || fmt::format(" {} ", scope).find(fmt::format(" {} ", word)) != std::string::npos;
}

std::string Field::scope_text() const {
  std::string text;
  for (const char c : scope) text += c == ' ' ? std::string(", ") : std::string(1, c);
  return text;
}

std::string Field::type_text() const {
  switch (type) {
    case ValueType::integer:
      return "integer";
    case ValueType::number:
      return "number";
    case ValueType::boolean:
      return "boolean";
    case ValueType::text:
      return "text";
    case ValueType::word:
      return "one of " + value_name;
    case ValueType::indices:
      return "indices";
    case ValueType::size:
      return "size";
    case ValueType::mapping:
      return "mapping";
  }
  return {};
}

std::vector<Field> with_groups(std::vector<Field> fields, std::span<const FieldGroup> groups) {
  std::string_view group;
  for (Field& field : fields) {
    const auto begins = std::ranges::find(groups, field.name, &FieldGroup::first);
    if (begins != groups.end()) group = begins->name;
    field.group = group;
  }
  return fields;
}

std::string field_suggestion(std::string_view name, std::string_view prefix, std::span<const Field> fields) {
  std::vector<std::string_view> names(fields.size());
  std::ranges::transform(fields, names.begin(), &Field::name);
  const std::optional<std::string> meant = nearest_name(name, names);
  return meant ? fmt::format("; did you mean {}{}?", prefix, *meant) : std::string();
}

void refuse_unknown(const Setting& setting, std::span<const Field> fields) {
  refuse(setting, setting.is_flag() ? "unknown flag" + field_suggestion(setting.field, "--", fields)
                                    : "unknown key" + field_suggestion(setting.field, "", fields));
}

void check_scope(std::span<const Setting> settings, const std::vector<Field>& fields, std::string_view word,
                 std::string_view context) {
  for (const Setting& setting : settings) {
    const Field* field = find_field(fields, setting.field);
    if (setting.value && field != nullptr && !field->applies_to(word)) {
      refuse(setting, fmt::format("does not apply to {}; it is for {}", context, field->scope_text()));
    }
  }
}

}  // namespace attention_plasticity
