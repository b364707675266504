#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/error.h"
#include "attention_plasticity/rotary/rotary_parameters.h"

namespace attention_plasticity {

/// Advice at the end of messages about a rotation that cannot be read from a model's config.
std::string_view rotation_by_hand();

/// Reads the fields of a JSON object that describes a rotation. A field that is missing or null gives an empty result.
/// A field of another type throws Error(usage), which names the key, the value and what is expected. Refers to the
/// object.
class JsonFields {
 public:
  /// `where` is put before keys in messages: "rope_scaling." or empty.
  explicit JsonFields(const nlohmann::json& object, std::string where = {});

  const nlohmann::json& object() const { return *object_; }
  /// A null pointer when the field is missing or null.
  const nlohmann::json* find(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  /// A whole number from 1 to 1,000,000.
  std::optional<std::size_t> count(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<JsonFields> fields(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::optional<std::vector<std::string>> texts(std::string_view key) const;
  /// A list of 1 or true and 0 or false.
  std::optional<std::vector<bool>> flags(std::string_view key) const;

  /// Throws Error(usage): the field is not what is expected.
  [[noreturn]] void refuse(std::string_view key, std::string_view expected) const;

 private:
  const nlohmann::json* object_;
  std::string where_;
};

/// The field `rope_type`, else `type`; none when both are missing.
std::optional<std::string> rope_type(const JsonFields& fields);

/// The kind of a rope_type. Throws Error(usage) for an unknown one.
RotaryKind known_rotary_kind(std::string_view name);

/// Reads all parameters but the kind from an object `rope_parameters` or `rope_scaling`. Parameters that it does not
/// have are unchanged. Throws Error(usage) for a field of a wrong type, and for one that changes the meaning of the
/// kind.
void read_rotary_parameters(const JsonFields& fields, RotaryParameters& parameters);

}  // namespace attention_plasticity
