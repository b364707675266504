#include "attention_plasticity/json/json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>
#include <type_traits>
#include <vector>

#include "attention_plasticity/base/printable.h"
#include "attention_plasticity/base/text.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

// Holds text to its rules before a value is made of it. nlohmann's parser callback could do so while it makes the
// value, but version 3.11 then searches all earlier elements of a list at the end of each object: a listing of 50,000
// files took 3.5 s in place of 0.06 s.
class RuleCheck final : public nlohmann::json_sax<json> {
 public:
  RuleCheck(std::string_view text, const JsonRules& rules, std::size_t most_keys)
      : text_(text), rules_(rules), most_keys_(most_keys) {}

  /// What is wrong; empty when nothing is.
  const std::string& problem() const { return problem_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(json::number_integer_t) override { return true; }
  bool number_unsigned(json::number_unsigned_t) override { return true; }
  bool number_float(json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    Level& level = levels_.back();
    if (++level.keys > most_keys_) {
      return refuse(fmt::format("has an object with more than {} keys, which no file of this program has", most_keys_));
    }
    if (!rules_.unique_keys || level.names.insert(name).second) return true;
    return refuse(fmt::format("holds the key {} twice", quoted_text(name)));
  }

  bool parse_error(std::size_t byte, const std::string&, const json::exception& error) override {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow) return refuse("holds a number that is too large");
    return refuse(rules_.subject.empty() ? fmt::format("line {}: is not valid JSON", line_number(text_, byte - 1))
                                         : fmt::format("is not valid JSON (at byte {})", byte));
  }

 private:
  // A list or an object that is open.
  struct Level {
    std::size_t keys = 0;
    std::set<std::string> names = {};  // where they must be unique
  };

  bool open() {
    levels_.emplace_back();
    if (levels_.size() <= rules_.most_levels) return true;
    return refuse(fmt::format("is nested more than {} levels deep", rules_.most_levels));
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  std::string_view text_;
  const JsonRules& rules_;
  std::size_t most_keys_;
  std::vector<Level> levels_;
  std::string problem_;
};

[[noreturn]] void refuse(const JsonRules& rules, const std::string& problem) {
  throw Error(rules.kind, rules.subject.empty() ? problem : fmt::format("{} {}", rules.subject, problem), rules.file);
}

}  // namespace

template <typename AnyJson>
AnyJson parse_json(std::string_view text, const JsonRules& rules) {
  if (text.size() > rules.most_bytes) {
    refuse(rules, fmt::format("is longer than {}", size_text(rules.most_bytes)));
  }
  constexpr bool is_ordered = std::is_same_v<AnyJson, Json>;
  RuleCheck check(text, rules, is_ordered ? most_ordered_keys : std::numeric_limits<std::size_t>::max());
  if (!json::sax_parse(text, &check)) refuse(rules, check.problem());
  return AnyJson::parse(text);
}

template <typename AnyJson>
AnyJson parse_json_object(std::string_view text, const JsonRules& rules) {
  AnyJson value = parse_json<AnyJson>(text, rules);
  if (!value.is_object()) refuse(rules, fmt::format("is {}; a JSON object is expected", shown_json(value)));
  return value;
}

template json parse_json<json>(std::string_view text, const JsonRules& rules);
template Json parse_json<Json>(std::string_view text, const JsonRules& rules);
template json parse_json_object<json>(std::string_view text, const JsonRules& rules);
template Json parse_json_object<Json>(std::string_view text, const JsonRules& rules);

const json* find_field(const json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> whole_number(const json& value, std::int64_t low, std::int64_t high) {
  if (!value.is_number()) return std::nullopt;
  const auto number = value.get<double>();
  const bool fits =
      number >= static_cast<double>(low) && number <= static_cast<double>(high) && number == std::floor(number);
  return fits ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
}

std::int64_t whole_number_field(const json& object, std::string_view key, std::int64_t low, std::int64_t high,
                                const std::string& place, const std::string& file) {
  const json* const value = find_field(object, key);
  const auto number = value == nullptr ? std::nullopt : whole_number(*value, low, high);
  if (number) return *number;
  throw Error(ErrorKind::input, fmt::format("{}{} should be a whole number from {} to {}", place, key, low, high),
              file);
}

std::string shown_json(const json& value) {
  // Lists and objects are only named: their text may be long.
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  if (value.is_object()) return "an object";
  constexpr std::size_t longest = 60;
  std::string text = value.dump(-1, ' ', true);
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

std::string json_text(const Json& json, int indent) {
  return printable_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace attention_plasticity
