#include "attention_plasticity/run/stored_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "attention_plasticity/base/atomic_file.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/run_json.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

constexpr const char* record_name = "run.json";
constexpr std::size_t digest_letters = 12;  // of its SHA-256, in the name of a table
constexpr std::size_t run_letters = 8;      // of the SHA-256 of its run's record, before those

// None when there is no such file.
std::optional<std::string> text_in(const Store& store, const std::string& name) {
  try {
    store.state(name);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::input) return std::nullopt;
    throw;
  }
  return store.read_all(name, name.ends_with(".json") ? most_record_bytes : most_table_bytes);
}

// Replaces texts wherever they stand as a value.
void rename_all(Json& json, const std::map<std::string, std::string>& names) {
  if (json.is_string()) {
    const auto found = names.find(json.get<std::string>());
    if (found != names.end()) json = found->second;
  } else if (json.is_structured()) {
    for (Json& part : json) rename_all(part, names);
  }
}

}  // namespace

StoredOutput::StoredOutput(const StoreAddress& address, fs::path folder)
    : store_(address), folder_(std::move(folder)) {}

void StoredOutput::make_folder(const std::vector<std::string>& files) const {
  // All are read before anything is written.
  std::map<fs::path, std::optional<std::string>> earlier;
  for (const std::string& file : files) earlier.emplace(folder_ / file, text_in(store_, file));
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) throw Error(ErrorKind::output, fmt::format("cannot be made: {}", failed.message()), folder_.string());
  for (const auto& [file, text] : earlier) {
    if (text) {
      write_file_atomically(file, *text);
    } else {
      fs::remove(file, failed);
    }
  }
}

std::optional<std::string> StoredOutput::run_json() const { return text_in(store_, record_name); }

std::string StoredOutput::shown(const fs::path& file) const {
  fs::path name = file.lexically_relative(folder_);
  if (name.empty() || *name.begin() == "..") return file.string();
  if (file.extension() == ".csv") name.replace_extension(".*.csv");
  return store_.shown(name.generic_string());
}

bool StoredOutput::holds(const std::string& table, const std::string& sha256) const {
  const std::string below = store_.shown("");
  if (!table.starts_with(below) || table.find(sha256.substr(0, digest_letters)) == std::string::npos) return false;
  try {
    store_.state(table.substr(below.size()));
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    return false;
  }
}

// No two runs give a table the same name, for a run.json holds times. So the run whose run.json is put last finds its
// tables, even if another run removes those of the run before both.
std::string StoredOutput::name_in_store(const fs::path& file, const std::string& run) const {
  const fs::path name = file.lexically_relative(folder_);
  if (file.extension() != ".csv") return name.string();
  return (name.parent_path() /
          fmt::format("{}.{}.{}.csv", name.stem().string(), run, file_sha256(file).substr(0, digest_letters)))
      .string();
}

std::vector<std::string> StoredOutput::put(const std::vector<std::string>& files) const {
  const std::optional<std::string> earlier = text_in(store_, record_name);
  std::map<std::string, std::string> addresses{{folder_.string(), store_.address().recorded()}};
  const std::string run = file_sha256(files.back()).substr(0, run_letters);
  std::vector<std::string> put;
  std::vector<std::string> names;
  for (const std::string& file : files) {
    const std::string below = fs::path(file).lexically_relative(folder_).string();
    if (below.empty() || below.starts_with("..")) {
      put.push_back(file);
      continue;
    }
    std::string text = read_file_bytes(file, most_table_bytes);
    std::string name = name_in_store(file, run);
    if (name.ends_with(".json")) {
      auto json = parse_json_object<Json>(text, {.file = file});
      rename_all(json, addresses);
      text = json_text(json, 2) + "\n";
    }
    try {
      store_.put(name, text);
    } catch (const Error& error) {
      remove_tables(names);
      throw Error(ErrorKind::output, fmt::format("could not be put: {}", error.what()), error.file());
    }
    addresses[file] = store_.shown(name);
    addresses[below] = name;  // in the configuration
    put.push_back(store_.shown(name));
    names.push_back(std::move(name));
  }
  if (earlier && !names.empty() && names.back() == record_name) remove_tables(tables_of(*earlier));
  return put;
}

// These tables have no reader: if the store cannot remove them, they stay.
void StoredOutput::remove_tables(const std::vector<std::string>& names) const {
  try {
    for (const std::string& name : names) {
      if (name.ends_with(".csv")) store_.remove(name);
    }
  } catch (const Error&) {
    return;
  }
}

// The tables that a run.json of this program names, as far as `put` has named them. Others may be files of somebody
// else.
std::vector<std::string> StoredOutput::tables_of(const std::string& run_json) {
  std::vector<std::string> names;
  try {
    for (const RecordedTable& table : parse_run_record(run_json, record_name).tables) {
      const bool is_ours = table.sha256 && table.sha256->size() > digest_letters &&
                           table.name.ends_with(fmt::format(".{}.csv", table.sha256->substr(0, digest_letters)));
      if (is_ours) names.push_back(table.name);
    }
  } catch (const Error&) {
    return {};
  }
  return names;
}

void StoredOutput::forget() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace attention_plasticity
