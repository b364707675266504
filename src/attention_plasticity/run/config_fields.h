#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/run/config.h"

namespace attention_plasticity {

/// A field of a configuration as users meet it: a key of the YAML file, and a flag of the same name.
struct ConfigField {
  std::string_view name;
  std::string_view type;  ///< "integer", "number", "boolean", "text", "one of a|b", "indices", "size" or "mapping"
  std::string_view default_text;  ///< the value, or a word for it: "discovered", "all", "none"
  std::string_view help;          ///< one sentence
  bool is_boolean;
};

/// All fields of RunConfig, in its order. The one table that the YAML reader, the flags, the help and run.json follow.
std::span<const ConfigField> config_fields();

/// The end of a message about an unknown name: "; did you mean max_workers?", or nothing. `prefix` stands before the
/// suggestion ("--" for flags).
std::string field_suggestion(std::string_view name, std::string_view prefix,
                             std::span<const ConfigField> fields = config_fields());

/// The value of a field as it stands in a resolved configuration.
struct ResolvedField {
  enum class Kind { null, boolean, number, text, list, mapping };

  std::string_view name;
  Kind kind = Kind::null;
  /// JSON as it stands ("null", "true", "0.01", "[0, 1, 7]"), save for text, which is the bare text.
  std::string text;
};

/// Every field of a resolved configuration, in the order of config_fields(). Given again as settings they resolve to
/// the same configuration: outputs below `output_dir` are therefore named relative to it.
std::vector<ResolvedField> resolved_fields(const RunConfig& config);

}  // namespace attention_plasticity
