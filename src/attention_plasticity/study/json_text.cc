#include "attention_plasticity/study/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <vector>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"

namespace attention_plasticity {

StudyJson parse_json_object(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto watch = [&](int, StudyJson::parse_event_t event, StudyJson& parsed) {
    if (event == StudyJson::parse_event_t::object_start) keys.emplace_back();
    if (event == StudyJson::parse_event_t::object_end) keys.pop_back();
    if (event == StudyJson::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      throw Error(ErrorKind::input, fmt::format("key {} occurs twice", quoted_text(parsed.get<std::string>())), file);
    }
    return true;
  };
  StudyJson json;
  try {
    json = StudyJson::parse(text, watch);
  } catch (const StudyJson::parse_error& error) {
    throw Error(ErrorKind::input, fmt::format("line {}: is not valid JSON", line_number(text, error.byte)), file);
  } catch (const StudyJson::out_of_range&) {
    throw Error(ErrorKind::input, "holds a number that is too large", file);
  }
  if (!json.is_object()) throw Error(ErrorKind::input, "should be a JSON object, and is another value", file);
  return json;
}

std::int64_t json_integer(const StudyJson& object, const char* key, std::int64_t low, std::int64_t high,
                          const std::string& place, const std::string& file) {
  const auto found = object.find(key);
  const double value = found != object.end() && found->is_number() ? found->get<double>() : std::nan("");
  // 512.0 is whole too: run.json writes windows as they were captured.
  const bool fits =
      value >= static_cast<double>(low) && value <= static_cast<double>(high) && value == std::floor(value);
  if (!fits) {
    throw Error(ErrorKind::input, fmt::format("{}{} should be a whole number from {} to {}", place, key, low, high),
                file);
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace attention_plasticity
