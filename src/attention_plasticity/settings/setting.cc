#include "attention_plasticity/settings/setting.h"

#include <fmt/format.h>

#include <algorithm>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"

namespace attention_plasticity {

std::string Setting::place() const {
  if (where.empty()) return fmt::format("`{}`", field);
  return is_flag() ? shown_text(where) : fmt::format("{}: {}", where, shown_text(field));
}

Setting flag_setting(std::string_view flag, std::string_view value) {
  Setting setting{std::string(flag.starts_with("--") ? flag.substr(2) : flag), std::nullopt, std::string(flag)};
  std::ranges::replace(setting.field, '-', '_');
  if (value != "null") setting.value = std::string(value);
  return setting;
}

void refuse(const Setting& setting, std::string_view problem) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", setting.place(), problem));
}

}  // namespace attention_plasticity
