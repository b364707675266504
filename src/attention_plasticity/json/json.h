#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "attention_plasticity/error.h"

// Reading and writing JSON. This header shows nlohmann-json, so it is not installed.

namespace attention_plasticity {

/// JSON that is written: keys stay in the order in which they were set. NaN is written as null. Text that is read goes
/// into nlohmann::json, whose keys are sorted: finding a key among n takes log n steps there, and n here.
using Json = nlohmann::ordered_json;

/// The most keys of an object that is read into Json. Reading n keys takes n²/2 steps: 100,000 took 16 s. The largest
/// object that the program writes and reads is a configuration, with some 60 keys; lists hold what grows with heads.
inline constexpr std::size_t most_ordered_keys = 1000;

/// What JSON text may hold, and how messages name it.
struct JsonRules {
  std::string file = {};              ///< the file of an Error; may be empty
  std::string subject = {};           ///< the first words of messages: "rope_scaling"; empty when `file` is enough
  ErrorKind kind = ErrorKind::input;  ///< the kind of an Error
  bool unique_keys = false;           ///< refuse a key that occurs twice in one object; otherwise the last one wins
  std::size_t most_bytes = std::numeric_limits<std::size_t>::max();  ///< longest text
  std::size_t most_levels = 64;  ///< deepest nesting of lists and objects; writing a value is recursive
};

/// The value of JSON text, as nlohmann::json or as Json. Throws Error with the place where the text is not valid
/// (the line, or when there is a subject, the byte from 1 on), or with the rule that it breaks. Takes time and memory
/// in proportion to the text, whatever it holds; an object of more than `most_ordered_keys` is refused as Json.
template <typename AnyJson = nlohmann::json>
AnyJson parse_json(std::string_view text, const JsonRules& rules);

/// The same for text that must hold an object.
template <typename AnyJson = nlohmann::json>
AnyJson parse_json_object(std::string_view text, const JsonRules& rules);

/// The field `key` of an object. Null when it is missing or null, and when `object` is another value.
const nlohmann::json* find_field(const nlohmann::json& object, std::string_view key);

/// A whole number from `low` to `high`, which lie within ±2^53. 512.0 is a whole number too. Nothing for other values.
std::optional<std::int64_t> whole_number(const nlohmann::json& value, std::int64_t low, std::int64_t high);

/// The whole number `object[key]` from `low` to `high`. Throws Error(input), naming `place` and key: "heads[3].layer".
std::int64_t whole_number_field(const nlohmann::json& object, std::string_view key, std::int64_t low, std::int64_t high,
                                const std::string& place, const std::string& file);

/// A value of a record that the program wrote itself, as T. A number that is not whole or that a whole T cannot hold
/// throws nlohmann::json::exception, as every other wrong type does: get<T>() would convert it, which is undefined.
template <typename T, typename AnyJson>
T recorded(const AnyJson& value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const bool fits = value.is_number_unsigned()
                          ? std::in_range<T>(value.template get<std::uint64_t>())
                          : value.is_number_integer() && std::in_range<T>(value.template get<std::int64_t>());
    if (!fits) throw AnyJson::out_of_range::create(406, "not a whole number of this size", &value);
  }
  return value.template get<T>();
}

/// The same for null, which is none.
template <typename T, typename AnyJson>
std::optional<T> recorded_or_none(const AnyJson& value) {
  return value.is_null() ? std::nullopt : std::optional(recorded<T>(value));
}

/// The same for a list, as a container of T.
template <typename Container, typename AnyJson>
Container recorded_list(const AnyJson& list) {
  Container values;
  for (const auto& value : list.template get_ref<const typename AnyJson::array_t&>()) {
    values.insert(values.end(), recorded<typename Container::value_type>(value));
  }
  return values;
}

/// A value for a message: one short line of ASCII.
std::string shown_json(const nlohmann::json& value);

/// JSON as text, on one line unless `indent` is at least 0. Bytes that are not UTF-8 become U+FFFD: file names may hold
/// any bytes. What a terminal would obey is escaped (printable_json).
std::string json_text(const Json& json, int indent = -1);

template <typename T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace attention_plasticity
