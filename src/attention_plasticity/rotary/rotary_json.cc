#include "attention_plasticity/rotary/rotary_json.h"

#include <fmt/format.h>

#include <utility>

#include "attention_plasticity/json/json.h"

namespace attention_plasticity {

using nlohmann::json;

std::string_view rotation_by_hand() {
  return "pass `rope_theta`, `rope_dim`, `rope_layout` and `rope_scaling` yourself, or `num_triples: 0` to leave "
         "position-exact plasticity out";
}

JsonFields::JsonFields(const json& object, std::string where) : object_(&object), where_(std::move(where)) {}

const json* JsonFields::find(std::string_view key) const { return find_field(*object_, key); }

void JsonFields::refuse(std::string_view key, std::string_view expected) const {
  const json* const value = find(key);
  throw Error(ErrorKind::usage, fmt::format("{}{} is {}; {} is expected", where_, key,
                                            value == nullptr ? "missing" : shown_json(*value), expected));
}

std::optional<double> JsonFields::number(std::string_view key) const {
  const json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) refuse(key, "a number");
  return value->get<double>();
}

std::optional<std::size_t> JsonFields::count(std::string_view key) const {
  constexpr std::int64_t most = 1'000'000;
  if (!number(key)) return std::nullopt;
  const std::optional<std::int64_t> count = whole_number(*find(key), 1, most);
  if (!count) refuse(key, "a whole number above 0");
  return static_cast<std::size_t>(*count);
}

std::optional<bool> JsonFields::flag(std::string_view key) const {
  const json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse(key, "true or false");
  return value->get<bool>();
}

std::optional<std::string> JsonFields::text(std::string_view key) const {
  const json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse(key, "text");
  return value->get<std::string>();
}

std::optional<JsonFields> JsonFields::fields(std::string_view key) const {
  const json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) refuse(key, "an object");
  return JsonFields(*value, fmt::format("{}{}.", where_, key));
}

std::vector<double> JsonFields::numbers(std::string_view key) const {
  const json* const value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) refuse(key, "a list of numbers");
  std::vector<double> numbers;
  for (const json& element : *value) {
    if (!element.is_number()) refuse(key, "a list of numbers only");
    numbers.push_back(element.get<double>());
  }
  return numbers;
}

std::optional<std::vector<std::string>> JsonFields::texts(std::string_view key) const {
  const json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) refuse(key, "a list of names");
  std::vector<std::string> texts;
  for (const json& element : *value) {
    if (!element.is_string()) refuse(key, "a list of names only");
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

std::optional<std::vector<bool>> JsonFields::flags(std::string_view key) const {
  const json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  constexpr std::string_view expected = "a list of 0 and 1";
  if (!value->is_array()) refuse(key, expected);
  std::vector<bool> flags;
  for (const json& element : *value) {
    if (element.is_boolean()) {
      flags.push_back(element.get<bool>());
    } else {
      if (!element.is_number()) refuse(key, expected);
      const double number = element.get<double>();
      if (number != 0 && number != 1) refuse(key, expected);
      flags.push_back(number == 1);
    }
  }
  return flags;
}

std::optional<std::string> rope_type(const JsonFields& fields) {
  std::optional<std::string> name = fields.text("rope_type");
  return name ? name : fields.text("type");
}

RotaryKind known_rotary_kind(std::string_view name) {
  if (const std::optional<RotaryKind> kind = rotary_kind_of(name)) return *kind;
  throw Error(ErrorKind::usage, fmt::format("rope_type is {}, which is none of {}; {}", shown_json(json(name)),
                                            rotary_kind_names(), rotation_by_hand()));
}

void read_rotary_parameters(const JsonFields& fields, RotaryParameters& parameters) {
  const auto take = [&](std::string_view key, std::optional<double>& into) {
    if (const std::optional<double> value = fields.number(key)) into = value;
  };
  // HunYuan models have it: alpha replaces theta at any length, so their `dynamic` differs from that of other models.
  if (parameters.kind == RotaryKind::dynamic && fields.find("alpha") != nullptr) {
    throw Error(ErrorKind::usage, fmt::format("rope_type dynamic with alpha is not known; {}", rotation_by_hand()));
  }
  parameters.theta = fields.number("rope_theta").value_or(parameters.theta);
  take("factor", parameters.factor);
  take("attention_factor", parameters.attention_factor);
  take("mscale", parameters.mscale);
  take("mscale_all_dim", parameters.mscale_all_dim);
  parameters.beta_fast = fields.number("beta_fast").value_or(parameters.beta_fast);
  parameters.beta_slow = fields.number("beta_slow").value_or(parameters.beta_slow);
  take("low_freq_factor", parameters.low_freq_factor);
  take("high_freq_factor", parameters.high_freq_factor);
  take("original_max_position_embeddings", parameters.original_length);
  parameters.truncate = fields.flag("truncate").value_or(parameters.truncate);
  if (fields.find("short_factor") != nullptr) parameters.short_factor = fields.numbers("short_factor");
  if (fields.find("inv_freq") != nullptr) parameters.frequencies = fields.numbers("inv_freq");
  if (fields.find("long_factor") != nullptr) parameters.long_factor = fields.numbers("long_factor");
}

}  // namespace attention_plasticity
