#include "attention_plasticity/cli/run_settings.h"

#include <algorithm>
#include <string>

#include "attention_plasticity/run/config_fields.h"
#include "attention_plasticity/run/config_yaml.h"

namespace attention_plasticity {
namespace {

bool is_config_field(const std::string& name) {
  return std::ranges::find(config_fields(), name, &ConfigField::name) != config_fields().end();
}

}  // namespace

std::vector<Setting> run_settings(const Arguments& arguments) {
  std::vector<Setting> settings;
  if (const auto file = arguments.value("config")) settings = read_yaml_settings(*file);
  for (const Arguments::Given& given : arguments.flags()) {
    if (!is_config_field(given.flag)) continue;
    settings.push_back(flag_setting(given.flag, given.value));
    settings.back().where = given.typed;
  }
  return settings;
}

Verbosity verbosity_of(const Arguments& arguments, const Terminal& terminal) {
  if (arguments.is_on("quiet")) return Verbosity::quiet;
  if (!arguments.is_on("progress", true) || !terminal.is_terminal) return Verbosity::plain;
  return Verbosity::bar;
}

}  // namespace attention_plasticity
