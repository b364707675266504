#include "attention_plasticity/settings/yaml_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <sstream>
#include <system_error>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/base/utf8.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

// Far larger than any configuration, and small enough for what yaml-cpp does with hostile text.
constexpr std::size_t max_file_size = std::size_t{1} << 20;
constexpr std::string_view too_large = "is larger than 1 MiB, too large for a configuration";
// A mapping may hold lists or mappings, and these only single values.
constexpr int max_mapping_depth = 2;

[[noreturn]] void refuse(std::string_view place, std::string_view problem) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", place, problem));
}

std::string place_of(std::string_view file, const YAML::Mark& mark) {
  return mark.is_null() ? std::string(file) : fmt::format("{}:{}", file, mark.line + 1);
}

std::string read_text(const std::string& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (std::filesystem::is_directory(status)) refuse(file, "is a folder; a YAML file is expected");
  if (error) refuse(file, fmt::format("cannot be read: {}", error.message()));
  if (std::filesystem::is_regular_file(status) && std::filesystem::file_size(file, error) > max_file_size) {
    refuse(file, too_large);
  }
  try {
    return read_file_bytes(file, max_file_size);
  } catch (const Error& unread) {
    refuse(file, unread.what());
  }
}

// YAML is printable text. yaml-cpp does not check that, and later readers of the values would fail.
void check_printable(std::string_view text, std::string_view name) {
  if (text.size() > max_file_size) refuse(name, too_large);
  if (!is_utf8(text)) refuse(name, "is not UTF-8 text");
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f;
  };
  const auto found = std::ranges::find_if(text, is_control);
  if (found == text.end()) return;
  const auto line = 1 + std::count(text.begin(), found, '\n');
  refuse(fmt::format("{}:{}", name, line),
         fmt::format("has the control character {}; YAML is plain text", shown_text(std::string_view(&*found, 1))));
}

// Notes only where the last document starts.
class DocumentStart : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  const YAML::Mark& mark() const { return mark_; }

 private:
  YAML::Mark mark_;
};

// The only document of a text. YAML::LoadAll would find others too, but never returns from a text such as ",": with it
// the test SurviveALoneComma runs out of memory.
YAML::Node document_of(const std::string& text, std::string_view name) {
  try {
    YAML::Node document = YAML::Load(text);
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    DocumentStart start;
    if (parser.HandleNextDocument(start) && parser.HandleNextDocument(start)) {
      refuse(place_of(name, start.mark()), "a second YAML document; a configuration is one mapping");
    }
    return document;
  } catch (const YAML::DeepRecursion& error) {
    refuse(place_of(name, error.mark), "is nested too deeply; a configuration is one mapping");
  } catch (const YAML::Exception& error) {
    refuse(place_of(name, error.mark), fmt::format("not valid YAML: {}", error.msg));
  }
}

// Messages about a value name the place of its key: an alias has the mark of its anchor.

// yaml-cpp gives a node without a tag the tag "" or "?", and quoted text "!".
bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

void refuse_own_tag(const YAML::Node& node, const Setting& setting) {
  const std::string& tag = node.Tag();
  if (tag.empty() || tag == "?" || tag == "!") return;
  refuse(setting, fmt::format("has the tag {}; tags are not supported", shown_text(tag)));
}

// The text of a scalar. yaml-cpp writes the escapes \N and \_ as the single bytes 85 and A0, where UTF-8 has C2 before
// them; all else is UTF-8, since the whole text was.
std::string text_of(const YAML::Node& scalar) {
  std::string text;
  for (std::string_view rest = scalar.Scalar(); !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    if (length == 0) text += '\xC2';
    text += rest.substr(0, std::max<std::size_t>(length, 1));
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

std::string scalar_text(const YAML::Node& node, const Setting& setting) {
  refuse_own_tag(node, setting);
  return text_of(node);
}

// What a value may still grow to. An alias repeats its anchor in a few bytes, so that a small file may hold a value of
// terabytes: a value may not be larger than a file.
class Allowance {
 public:
  explicit Allowance(const Setting& setting) : setting_(setting) {}

  void take(const YAML::Node& node) {
    const std::size_t size = 1 + (node.IsScalar() ? node.Scalar().size() : 0);
    if (size > left_) refuse(setting_, "grows to more than 1 MiB by its aliases; write the value out");
    left_ -= size;
  }

 private:
  const Setting& setting_;
  std::size_t left_ = max_file_size;
};

// A list as a flag would have it: [0-3, 7] becomes 0-3,7.
std::string list_text(const YAML::Node& list, const Setting& setting) {
  refuse_own_tag(list, setting);
  std::vector<std::string> items;
  Allowance allowance(setting);
  for (const YAML::Node& item : list) {
    if (!item.IsScalar()) refuse(setting, "takes a list of integers and ranges such as [0-3, 7]");
    allowance.take(item);
    items.push_back(scalar_text(item, setting));
  }
  return fmt::format("{}", fmt::join(items, ","));
}

// A value in a mapping. Words and numbers are read as JSON; quoted ones are text.
Json json_of(const YAML::Node& node, const Setting& setting, Allowance& allowance, int depth = 0) {
  refuse_own_tag(node, setting);
  allowance.take(node);
  if (depth > max_mapping_depth) refuse(setting, "is nested too deeply");  // an alias may even name its own parent
  if (node.IsNull()) return nullptr;
  if (node.IsScalar()) {
    // Lists and objects of JSON are no words or numbers, and are not parsed: they might be nested without end.
    const std::string text = text_of(node);
    const bool is_nested = text.find_first_of("[{") != std::string::npos;
    const Json value =
        is_quoted(node) || is_nested ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
    return value.is_primitive() && !value.is_discarded() ? value : Json(text);
  }
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const YAML::Node& item : node) list.push_back(json_of(item, setting, allowance, depth + 1));
    return list;
  }
  constexpr std::size_t most_keys = 1000;  // finding one takes a step for each
  if (node.size() > most_keys) refuse(setting, fmt::format("has more than {} keys", most_keys));
  Json mapping = Json::object();
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) refuse(setting, "one of its keys is not a single word");
    allowance.take(entry.first);
    const std::string name = text_of(entry.first);
    if (mapping.contains(name)) refuse(setting, fmt::format("repeats the key {}", shown_text(name)));
    mapping[name] = json_of(entry.second, setting, allowance, depth + 1);
  }
  return mapping;
}

std::string expected_shape(const Field& field) {
  if (field.type == ValueType::indices) return "takes indices and ranges such as 0-3,7";
  if (field.type == ValueType::mapping) return "must be a mapping such as {rope_type: linear, factor: 4}";
  return fmt::format("must be a single value ({})", field.type_text());
}

std::optional<std::string> value_text(const YAML::Node& node, const Field& field, const Setting& setting) {
  if (node.IsNull()) return std::nullopt;
  if (field.type == ValueType::indices && node.IsSequence()) return list_text(node, setting);
  if (field.type == ValueType::mapping && node.IsMap()) {
    Allowance allowance(setting);
    return json_of(node, setting, allowance).dump();
  }
  if (!node.IsScalar()) {
    refuse(setting, fmt::format("is a {}; it {}", node.IsMap() ? "mapping" : "list", expected_shape(field)));
  }
  std::string text = scalar_text(node, setting);
  constexpr std::array unquoted{ValueType::integer, ValueType::number, ValueType::boolean};
  if (is_quoted(node) && std::ranges::find(unquoted, field.type) != unquoted.end()) {
    refuse(setting, fmt::format("\"{}\" is text; write the {} without quotes", shown_text(text), field.type_text()));
  }
  return text;
}

Setting setting_of(const YAML::Node& key_node, const YAML::Node& value, std::string_view name,
                   const std::vector<Field>& fields) {
  const std::string where = place_of(name, key_node.Mark());
  if (!key_node.IsScalar()) refuse(where, "a key must be the name of a field");
  Setting setting{key_node.Scalar(), std::nullopt, where};
  if (setting.field == "<<") refuse(setting, "merge keys are not supported; write the fields out");
  const Field* field = find_field(fields, setting.field);
  if (field == nullptr) refuse_unknown(setting, fields);
  setting.value = value_text(value, *field, setting);
  return setting;
}

// The settings of a mapping, without the key `left_out`.
std::vector<Setting> settings_of(const YAML::Node& mapping, std::string_view name, const std::vector<Field>& fields,
                                 std::string_view left_out = {}) {
  std::vector<Setting> settings;
  std::map<std::string, int> first_line;
  for (const auto& entry : mapping) {
    const bool is_left_out = !left_out.empty() && entry.first.IsScalar() && entry.first.Scalar() == left_out;
    Setting setting = is_left_out ? Setting{std::string(left_out), std::nullopt, place_of(name, entry.first.Mark())}
                                  : setting_of(entry.first, entry.second, name, fields);
    const auto [first, is_new] = first_line.emplace(setting.field, entry.first.Mark().line + 1);
    if (!is_new) refuse(setting, fmt::format("repeats the key of line {}", first->second));
    if (!is_left_out) settings.push_back(std::move(setting));
  }
  return settings;
}

// Text that every YAML reader takes for the same text without quotes. yaml-cpp would leave out the quotes of "yes" and
// "1.10" too, which other readers take for a boolean and a number.
bool is_plain(const std::string& text) {
  constexpr std::array<std::string_view, 9> special{"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_inner = [is_letter](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || std::string_view("_./-").find(c) != std::string_view::npos;
  };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, is_inner) &&
         std::ranges::find(special, lower_case(text)) == special.end();
}

std::string quoted(const std::string& text) {
  YAML::Emitter emitter;
  // yaml-cpp writes a DEL as it is unless told to escape all that is not ASCII, and YAML does not allow one.
  if (text.find('\x7f') != std::string::npos) emitter << YAML::EscapeNonAscii;
  emitter << YAML::DoubleQuoted << text;
  return emitter.c_str();
}

}  // namespace

std::vector<Setting> read_yaml_settings(const std::string& file, const std::vector<Field>& fields) {
  return parse_yaml_settings(read_text(file), file, fields);
}

std::vector<Setting> parse_yaml_settings(std::string_view text, std::string_view name,
                                         const std::vector<Field>& fields) {
  check_printable(text, name);
  const YAML::Node mapping = document_of(std::string(text), name);
  if (mapping.IsNull()) return {};
  if (!mapping.IsMap()) refuse(place_of(name, mapping.Mark()), "not a mapping of fields to values");

  return settings_of(mapping, name, fields);
}

YamlList read_yaml_list(const std::string& file, const std::string& list, const std::vector<Field>& fields,
                        const std::vector<Field>& entry_fields) {
  const std::string text = read_text(file);
  check_printable(text, file);
  const YAML::Node mapping = document_of(text, file);
  if (!mapping.IsMap()) refuse(place_of(file, mapping.Mark()), "not a mapping of fields to values");
  YamlList found{settings_of(mapping, file, fields, list), {}};
  const YAML::Node items = mapping[list];
  if (!items || !items.IsSequence() || items.size() == 0) {
    refuse(file, fmt::format("has no list `{}` with an item for each run", list));
  }
  // Items may be aliases of one large item.
  std::size_t left = max_file_size;
  for (const YAML::Node& item : items) {
    const std::string where = place_of(file, item.Mark());
    if (!item.IsMap()) refuse(where, fmt::format("an item of `{}` is a mapping of fields to values", list));
    YamlEntry entry{where, settings_of(item, file, entry_fields)};
    for (const Setting& setting : entry.settings) {
      const std::size_t size = setting.field.size() + (setting.value ? setting.value->size() : 0);
      if (size > left) {
        refuse(file,
               fmt::format("the items of `{}` grow to more than 1 MiB by their aliases; write what they share beside "
                           "the list, once",
                           list));
      }
      left -= size;
    }
    found.entries.push_back(std::move(entry));
  }
  return found;
}

std::string yaml_text(const std::vector<FieldValue>& values) {
  std::string text;
  for (const FieldValue& value : values) {
    const std::string plain = value.text.value_or("null");
    text += fmt::format("{}: {}\n", value.name, value.is_text() && !is_plain(plain) ? quoted(plain) : plain);
  }
  return text;
}

}  // namespace attention_plasticity
