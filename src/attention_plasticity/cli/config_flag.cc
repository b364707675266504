#include "attention_plasticity/cli/config_flag.h"

#include <fmt/format.h>

namespace attention_plasticity {
namespace {

std::string value_name(const ConfigField& field) {
  if (field.is_boolean) return "";
  if (field.type == "integer" || field.type == "number") return "N";
  if (field.type == "indices") return "LIST";
  if (field.type == "size") return "SIZE";
  if (field.type == "mapping") return "JSON";
  if (field.type.starts_with("one of ")) return std::string(field.type.substr(7));
  return "TEXT";
}

}  // namespace

Flag config_flag(const ConfigField& field) {
  return {std::string(field.name), value_name(field), fmt::format("{} (default: {})", field.help, field.default_text)};
}

}  // namespace attention_plasticity
