#include "attention_plasticity/results/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/digest/digest.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/schema.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

std::optional<std::string> text_in(const json* object, std::string_view key) {
  const json* field = object == nullptr ? nullptr : find_field(*object, key);
  return field != nullptr && field->is_string() ? std::optional(field->get<std::string>()) : std::nullopt;
}

[[noreturn]] void refuse(std::string_view problem, const std::string& file) {
  throw Error(ErrorKind::input, fmt::format("{}; move it away to use the tables alone", problem), file);
}

int schema_of(const json& run, const std::string& file) {
  const json* field = find_field(run, "schema");
  const auto schema = field == nullptr ? std::nullopt : whole_number(*field, 1, std::numeric_limits<int>::max());
  if (!schema) refuse("has no schema, so it is not the run.json of a run", file);
  if (*schema > run_json_schema) {
    refuse(fmt::format("is of schema {}, and this program reads schemas 1 to {}", *schema, run_json_schema), file);
  }
  return static_cast<int>(*schema);
}

bool is_sha256(std::string_view text) {
  constexpr std::size_t digits = 64;
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<RecordedTable> tables_of(const json& run, const std::string& file) {
  const json* tables = find_field(run, "tables");
  if (tables == nullptr || !tables->is_array()) refuse("names no tables, so it is not the run.json of a run", file);
  std::vector<RecordedTable> recorded;
  recorded.reserve(tables->size());
  for (const json& table : *tables) {
    const auto path = text_in(&table, "file");
    auto sha256 = text_in(&table, "sha256");
    if (!path || !sha256) refuse("has a table without file or sha256", file);
    if (!is_sha256(*sha256)) {
      refuse(fmt::format("has the SHA-256 {} for a table, which is not 64 hexadecimal digits", quoted_text(*sha256)),
             file);
    }
    recorded.push_back({file_name(*path), std::move(sha256)});
  }
  return recorded;
}

std::vector<RecordedTable> files_of(const json& run, const std::string& file) {
  const json* files = find_field(run, "files");
  if (files == nullptr || !files->is_array()) refuse("names no files, so it is not the run.json of a run", file);
  std::vector<RecordedTable> recorded;
  recorded.reserve(files->size());
  for (const json& path : *files) {
    if (path.is_string()) recorded.push_back({file_name(path.get<std::string>()), std::nullopt});
  }
  return recorded;
}

std::map<std::string, double> means_of(const json& run) {
  std::map<std::string, double> means;
  const json* summary = find_field(run, "summary");
  if (summary == nullptr || !summary->is_object()) return means;
  for (const auto& [measure, figures] : summary->items()) {
    const json* mean = find_field(figures, "mean");
    const bool is_known = mean != nullptr && mean->is_number();
    means[measure] = is_known ? mean->get<double>() : std::numeric_limits<double>::quiet_NaN();
  }
  return means;
}

}  // namespace

const RecordedTable* RunRecord::find(std::string_view name) const {
  const auto found = std::ranges::find(tables, name, &RecordedTable::name);
  return found == tables.end() ? nullptr : &*found;
}

RunRecord parse_run_record(std::string_view text, const std::string& file) {
  const json run = parse_json_object(text, {.file = file, .unique_keys = true});
  RunRecord record;
  record.schema = schema_of(run, file);
  record.tables = record.schema == 1 ? files_of(run, file) : tables_of(run, file);
  const json* input = find_field(run, "input");
  record.input = {text_in(input, "root"), text_in(input, "repo"), text_in(input, "revision"), text_in(input, "folder")};
  record.model = text_in(find_field(run, "model"), "name");
  for (const ResultTable& table : result_tables()) {
    const auto path = text_in(find_field(run, "config"), table.field);
    if (path && !file_name(*path).empty()) record.names[std::string(table.field)] = file_name(*path);
  }
  const json* heads = find_field(run, "heads");
  const json* done = heads == nullptr ? nullptr : find_field(*heads, "done");
  if (const auto count = done == nullptr ? std::nullopt : whole_number(*done, 0, std::numeric_limits<int>::max())) {
    record.heads_done = static_cast<std::size_t>(*count);
  }
  record.means = means_of(run);
  return record;
}

std::string file_sha256(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  Digest digest(DigestKind::sha256);
  std::array<char, 1 << 16> block{};
  while (stream) {
    stream.read(block.data(), block.size());
    digest.add({block.data(), static_cast<std::size_t>(stream.gcount())});
  }
  if (!stream.eof()) throw Error(ErrorKind::input, "cannot be read; check its permissions", file.string());
  return digest.finish();
}

}  // namespace attention_plasticity
