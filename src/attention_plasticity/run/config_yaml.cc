#include "attention_plasticity/run/config_yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "attention_plasticity/base/error.h"
#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/utf8.h"

namespace attention_plasticity {
namespace {

using Json = nlohmann::ordered_json;

// Far beyond any configuration, and small enough for whatever yaml-cpp does with hostile text.
constexpr std::size_t max_file_size = std::size_t{1} << 20;
// A mapping of lists.
constexpr int max_mapping_depth = 2;

[[noreturn]] void refuse(std::string_view place, std::string_view problem) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", place, problem));
}

std::string place_of(std::string_view file, const YAML::Mark& mark) {
  return mark.is_null() ? std::string(file) : fmt::format("{}:{}", file, mark.line + 1);
}

std::string read_text(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) refuse(file, "is a folder; --config takes a YAML file");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse(file, fmt::format("cannot be read: {}", std::generic_category().message(errno)));
  std::string text(max_file_size + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) refuse(file, fmt::format("cannot be read: {}", std::generic_category().message(errno)));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

// YAML is printable text. yaml-cpp takes bytes as they come, and later readers of the values would not.
void check_printable(std::string_view text, std::string_view name) {
  if (text.size() > max_file_size) refuse(name, "is larger than 1 MiB; that is no configuration");
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

// Only notes where the last document starts.
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

// The one document of a text. YAML::LoadAll would tell of others too, but never returns from a text such as ",":
// the test SurviveALoneComma then runs out of memory.
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

// A key of the mapping and where it stands. Values may stand elsewhere: an alias has the mark of its anchor.
struct Key {
  std::string name;
  std::string place;  // "x.yaml:3: max_workers"
};

// yaml-cpp tags a node that has no tag of its own: nothing or "?", and "!" for quoted text.
bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

void refuse_own_tag(const YAML::Node& node, const Key& key) {
  const std::string& tag = node.Tag();
  if (tag.empty() || tag == "?" || tag == "!") return;
  refuse(key.place, fmt::format("has the tag {}; tags are not supported", shown_text(tag)));
}

std::string scalar_text(const YAML::Node& node, const Key& key) {
  refuse_own_tag(node, key);
  return node.Scalar();
}

// A list in the words of a flag: [0-3, 7] is 0-3,7.
std::string list_text(const YAML::Node& list, const Key& key) {
  refuse_own_tag(list, key);
  std::vector<std::string> items;
  for (const YAML::Node& item : list) {
    if (!item.IsScalar()) refuse(key.place, "takes a list of integers and ranges such as [0-3, 7]");
    items.push_back(scalar_text(item, key));
  }
  return fmt::format("{}", fmt::join(items, ","));
}

// A value in a mapping; words and numbers mean what they mean in JSON, quoted ones are text.
Json json_of(const YAML::Node& node, const Key& key, int depth = 0) {
  refuse_own_tag(node, key);
  if (depth > max_mapping_depth) refuse(key.place, "is nested too deeply");  // an alias may even name what holds it
  if (node.IsNull()) return nullptr;
  if (node.IsScalar()) {
    const Json value = is_quoted(node) ? Json(Json::value_t::discarded) : Json::parse(node.Scalar(), nullptr, false);
    return value.is_primitive() && !value.is_discarded() ? value : Json(node.Scalar());
  }
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const YAML::Node& item : node) list.push_back(json_of(item, key, depth + 1));
    return list;
  }
  Json mapping = Json::object();
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) refuse(key.place, "a key in it is not a single word");
    const std::string& name = entry.first.Scalar();
    if (mapping.contains(name)) refuse(key.place, fmt::format("repeats the key {}", shown_text(name)));
    mapping[name] = json_of(entry.second, key, depth + 1);
  }
  return mapping;
}

std::string expected_shape(const ConfigField& field) {
  if (field.type == "indices") return "takes indices and ranges such as 0-3,7";
  if (field.type == "mapping") return "must be a mapping such as {rope_type: linear, factor: 4}";
  return fmt::format("must be a single value ({})", field.type);
}

std::optional<std::string> value_text(const YAML::Node& node, const ConfigField& field, const Key& key) {
  if (node.IsNull()) return std::nullopt;
  if (field.type == "indices" && node.IsSequence()) return list_text(node, key);
  if (field.type == "mapping" && node.IsMap()) return json_of(node, key).dump();
  if (!node.IsScalar()) {
    refuse(key.place, fmt::format("is a {}; it {}", node.IsMap() ? "mapping" : "list", expected_shape(field)));
  }
  std::string text = scalar_text(node, key);
  constexpr std::array<std::string_view, 3> unquoted{"integer", "number", "boolean"};
  if (is_quoted(node) && std::ranges::find(unquoted, field.type) != unquoted.end()) {
    refuse(key.place, fmt::format("\"{}\" is text; write the {} without quotes", shown_text(text), field.type));
  }
  return text;
}

Setting setting_of(const YAML::Node& key_node, const YAML::Node& value, std::string_view name,
                   std::span<const ConfigField> fields) {
  const std::string where = place_of(name, key_node.Mark());
  if (!key_node.IsScalar()) refuse(where, "a key must be the name of a field");
  const Key key{key_node.Scalar(), fmt::format("{}: {}", where, shown_text(key_node.Scalar()))};
  if (key.name == "<<") refuse(key.place, "merge keys are not supported; write the fields out");
  const auto field = std::ranges::find(fields, key.name, &ConfigField::name);
  if (field == fields.end()) refuse(key.place, fmt::format("unknown key{}", field_suggestion(key.name, "", fields)));
  return {key.name, value_text(value, *field, key), where};
}

// Text that every YAML reader takes for the same text without quotes.
bool is_plain(const std::string& text) {
  constexpr std::array<std::string_view, 9> special{"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_inner = [is_letter](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || std::string_view("_./-").find(c) != std::string_view::npos;
  };
  if (text.empty() || !is_letter(text.front()) || !std::ranges::all_of(text, is_inner)) return false;
  return std::ranges::find(special, lower_case(text)) == special.end();
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

std::vector<Setting> read_yaml_settings(const std::string& file, std::span<const ConfigField> fields) {
  return parse_yaml_settings(read_text(file), file, fields);
}

std::vector<Setting> parse_yaml_settings(std::string_view text, std::string_view name,
                                         std::span<const ConfigField> fields) {
  check_printable(text, name);
  const YAML::Node mapping = document_of(std::string(text), name);
  if (mapping.IsNull()) return {};
  if (!mapping.IsMap()) refuse(place_of(name, mapping.Mark()), "not a mapping of fields to values");

  std::vector<Setting> settings;
  std::map<std::string, std::size_t> first_line;
  for (const auto& entry : mapping) {
    Setting setting = setting_of(entry.first, entry.second, name, fields);
    const auto line = static_cast<std::size_t>(entry.first.Mark().line + 1);
    const auto [first, is_new] = first_line.emplace(setting.field, line);
    if (!is_new) {
      refuse(fmt::format("{}: {}", setting.where, setting.field),
             fmt::format("repeats the key of line {}", first->second));
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::string config_text(const RunConfig& config) {
  std::string text;
  for (const ResolvedField& field : resolved_fields(config)) {
    const bool as_is = field.kind != ResolvedField::Kind::text || is_plain(field.text);
    text += fmt::format("{}: {}\n", field.name, as_is ? field.text : quoted(field.text));
  }
  return text;
}

}  // namespace attention_plasticity
