#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/rotary/rotary_parameters.h"

namespace attention_plasticity {

/// What to do about a rotation that this program cannot take from a model's config: the end of such messages.
std::string_view rotation_by_hand();

/// The fields of a JSON object that describes a rotation, read by type. A missing field and null are nothing; a value
/// of another type is Error(usage) that names the key, shows the value and says what is expected. Only borrows the
/// object.
class JsonFields {
 public:
  /// `where` is put before keys in messages: "rope_scaling." or empty.
  explicit JsonFields(const nlohmann::json& object, std::string where = {});

  const nlohmann::json& object() const { return *object_; }
  /// Null when it is missing or null.
  const nlohmann::json* find(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  /// A whole number from 1 to 1,000,000: widths, layers.
  std::optional<std::size_t> count(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<JsonFields> fields(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::optional<std::vector<std::string>> texts(std::string_view key) const;
  /// 1 or true, 0 or false.
  std::optional<std::vector<bool>> flags(std::string_view key) const;

  /// Throws that `key` is not what is expected.
  [[noreturn]] void refuse(std::string_view key, std::string_view expected) const;

 private:
  const nlohmann::json* object_;
  std::string where_;
};

/// `rope_type`, else `type`; nothing when there is neither.
std::optional<std::string> rope_type(const JsonFields& fields);

/// The kind of a rope_type. Throws Error(usage) for one that is not known.
RotaryKind known_rotary_kind(std::string_view name);

/// All but the kind, from an object of `rope_parameters` or `rope_scaling`; what it does not say stays as it is in
/// `parameters`. Throws Error(usage) for fields of a wrong type, and for those that change what the kind means.
void read_rotary_parameters(const JsonFields& fields, RotaryParameters& parameters);

}  // namespace attention_plasticity
