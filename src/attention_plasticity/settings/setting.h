#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// One field as the user set it, in a YAML file, by a flag or in a program. Its value is still text.
struct Setting {
  std::string field;
  std::optional<std::string> value;  ///< none: null, which unsets the field
  std::string where;  ///< "configs/x.yaml:12", or the flag as typed: "--max-workers", "-o"; empty: a program

  bool is_flag() const { return where.starts_with('-'); }
  /// How messages name the setting: "configs/x.yaml:12: max_workers", the flag as typed, or "`max_workers`".
  std::string place() const;
};

/// The setting of a flag and its value: `--max-workers` and `--max_workers` set the field max_workers, and the word
/// null unsets it.
Setting flag_setting(std::string_view flag, std::string_view value);

/// Settings by field, at most one for each.
using SettingMap = std::map<std::string, Setting, std::less<>>;

/// Throws Error(usage): the place of the setting, then the problem.
[[noreturn]] void refuse(const Setting& setting, std::string_view problem);

}  // namespace attention_plasticity
