#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/run/config_fields.h"

namespace attention_plasticity {

/// What values a field takes.
enum class FieldType { integer, number, boolean, text, word, indices, size, mapping };

/// A field of RunConfig as the program handles it.
struct FieldRule {
  std::string name;
  std::string type_text;
  std::string default_text;
  std::string help;
  FieldType type = FieldType::text;
  std::optional<std::string_view> null_means;  ///< the value that null stands for; none: it unsets the field
  /// Gives the field the value that a text stands for. Error(usage) without a place when there is none.
  std::function<void(RunConfig&, const std::string&)> set;
  std::function<ResolvedField(const RunConfig&)> get;
};

/// All fields, in the order of RunConfig.
const std::vector<FieldRule>& field_rules();

/// None for an unknown name.
const FieldRule* find_field_rule(std::string_view name);

}  // namespace attention_plasticity
