#include "attention_plasticity/hub/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

// The Hub lists at most this number of files with a revision: a list of this length may be incomplete.
constexpr std::size_t most_siblings = 50'000;

// Reads one kind of answer, which messages call `name`.
class AnswerReader {
 public:
  explicit AnswerReader(std::string_view name) : name_(name) {}

  [[noreturn]] void refuse(std::string_view why) const {
    throw Error(ErrorKind::network,
                fmt::format("the Hub's {} cannot be used: {}; try again, and check HF_ENDPOINT if that does not help",
                            name_, why));
  }

  json parse(std::string_view text) const {
    try {
      return parse_json(text, {.subject = "it", .most_bytes = longest_answer});
    } catch (const Error& error) {
      refuse(error.what());
    }
  }

  // Null when the field is missing or null. Throws when `object` is not an object.
  const json* find(const json& object, const char* key) const {
    if (!object.is_object()) refuse("an object is expected");
    return find_field(object, key);
  }

  const json& field(const json& object, const char* key) const {
    const json* const found = find(object, key);
    if (found == nullptr) refuse(fmt::format("{} is missing", key));
    return *found;
  }

  const std::string& text(const json& object, const char* key) const {
    const json& value = field(object, key);
    if (!value.is_string()) refuse(fmt::format("{} is not text", key));
    return value.get_ref<const std::string&>();
  }

  std::uint64_t size(const json& object) const {
    constexpr std::uint64_t most = std::uint64_t{1} << 53U;  // a double holds all whole numbers up to it
    const json& value = field(object, "size");
    const auto* const number = value.get_ptr<const json::number_unsigned_t*>();
    if (number == nullptr || *number > most) refuse("size is not a number of bytes");
    return *number;
  }

  void require_list(const json& value, const char* key) const {
    if (!value.is_array()) refuse(fmt::format("{} is not a list", key));
  }

 private:
  std::string_view name_;
};

bool is_lower_hex(std::string_view text, std::size_t digits) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == digits && std::ranges::all_of(text, is_hex);
}

void require_inside_folder(const std::string& path) {
  if (is_inside_folder(path)) return;
  throw Error(ErrorKind::input, fmt::format("the Hub lists a file {}, which leaves the folder of the dataset or is not "
                                            "the name of a file; nothing was written: do not trust this dataset",
                                            quoted_text(path)));
}

std::optional<RepoFile> parse_tree_entry(const AnswerReader& reader, const json& entry) {
  RepoFile file;
  file.path = reader.text(entry, "path");
  require_inside_folder(file.path);
  if (reader.text(entry, "type") != "file") return std::nullopt;
  const json* const large = reader.find(entry, "lfs");
  const json& content = large == nullptr ? entry : *large;
  file.is_large = large != nullptr;
  file.size = reader.size(content);
  file.etag = reader.text(content, "oid");
  if (!is_lower_hex(file.etag, file.is_large ? 64 : 40)) {
    reader.refuse(
        fmt::format("oid is {}, which is not a {}", quoted_text(file.etag), file.is_large ? "SHA-256" : "SHA-1"));
  }
  return file;
}

std::vector<std::string> parse_names(const AnswerReader& reader, const json* refs, const char* key) {
  std::vector<std::string> names;
  if (refs == nullptr) return names;
  reader.require_list(*refs, key);
  names.reserve(refs->size());
  for (const json& ref : *refs) names.push_back(reader.text(ref, "name"));
  return names;
}

}  // namespace

bool is_inside_folder(std::string_view path) {
  constexpr std::size_t longest_name = 255;
  if (path.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > longest_name) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

bool is_commit(std::string_view revision) { return is_lower_hex(revision, 40); }

RevisionInfo parse_revision_info(std::string_view json_text) {
  const AnswerReader reader("answer about the revision");
  const json answer = reader.parse(json_text);
  RevisionInfo info;
  info.commit = reader.text(answer, "sha");
  if (!is_commit(info.commit)) reader.refuse(fmt::format("sha is {}, which is not a commit", quoted_text(info.commit)));
  const json* const siblings = reader.find(answer, "siblings");
  if (siblings == nullptr) return info;
  reader.require_list(*siblings, "siblings");
  info.paths.reserve(siblings->size());
  for (const json& sibling : *siblings) {
    const std::string& path = reader.text(sibling, "rfilename");
    require_inside_folder(path);
    info.paths.push_back(path);
  }
  info.lists_all = info.paths.size() < most_siblings;
  return info;
}

std::vector<RepoFile> parse_tree_page(std::string_view json_text) {
  const AnswerReader reader("list of files");
  const json answer = reader.parse(json_text);
  std::vector<RepoFile> files;
  reader.require_list(answer, "it");
  files.reserve(answer.size());
  for (const json& entry : answer) {
    if (auto file = parse_tree_entry(reader, entry)) files.push_back(*std::move(file));
  }
  return files;
}

RepoRefs parse_refs(std::string_view json_text) {
  const AnswerReader reader("list of branches");
  const json answer = reader.parse(json_text);
  return {parse_names(reader, &reader.field(answer, "branches"), "branches"),
          parse_names(reader, reader.find(answer, "tags"), "tags")};
}

}  // namespace attention_plasticity
