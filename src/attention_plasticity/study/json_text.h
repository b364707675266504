#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace attention_plasticity {

using StudyJson = nlohmann::ordered_json;

/// A JSON object whose keys occur once. Throws Error(input), naming the line, for text that is no JSON, and the key,
/// for one that occurs twice in one object.
StudyJson parse_json_object(std::string_view text, const std::string& file);

/// The whole number `object[key]` from `low` to `high`. Throws Error(input) naming `place` and key: "heads[3].layer".
std::int64_t json_integer(const StudyJson& object, const char* key, std::int64_t low, std::int64_t high,
                          const std::string& place, const std::string& file);

}  // namespace attention_plasticity
