#include "attention_plasticity/run/complete_results.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/results/run_record.h"
#include "attention_plasticity/run/config_fields.h"
#include "attention_plasticity/run/run_json.h"

namespace attention_plasticity {
namespace {

using nlohmann::json;

// What run.json would say of this run, as far as that is known before any head is measured: the layers of `earlier` are
// taken to have the windows and widths that it names.
json expected_json(const PreparedRun& prepared, const RunConfig& config, const json& earlier) {
  RunResult run;
  const json& model = earlier.at("model");
  for (const json& layer : model.at("layers")) {
    HeadResult head;
    head.head.layer = recorded<int>(layer.at("layer"));
    head.width = recorded<std::size_t>(model.at("head_dim"));
    if (!layer.at("window").is_null()) head.window = layer.at("window").get<double>();
    run.results.push_back(std::move(head));
  }
  return json::parse(run_json(prepared, config, run, {}, {}));
}

bool is_same_config(const json& earlier, const json& expected) {
  return std::ranges::all_of(config_fields(), [&](const Field& field) {
    return !field.decides_figures ||
           earlier.at("config").value(field.name, json()) == expected.at("config").at(field.name);
  });
}

// By what tells a file from another version of it; earlier runs say more of a file.
bool are_same_files(const json& earlier, const json& expected) {
  const json& before = earlier.at("input").at("files");
  const json& now = expected.at("input").at("files");
  return std::ranges::equal(before, now, [](const json& a, const json& b) {
    // The etag of a file in a store is known when it was read; until then, its time tells.
    const bool has_time = a.contains("modified");
    return std::ranges::all_of(std::array{"file", "bytes", "modified", "etag"}, [&](const std::string& key) {
      return (has_time && key == "etag") || a.value(key, json()) == b.value(key, json());
    });
  });
}

bool is_same_run(const json& earlier, const PreparedRun& prepared, const RunConfig& config) {
  const json& heads = earlier.at("heads");
  if (!heads.at("failed").empty() || heads.at("done") != prepared.tasks.size()) return false;
  const json expected = expected_json(prepared, config, earlier);
  return earlier.at("schema") == expected.at("schema") && earlier.at("program") == expected.at("program") &&
         earlier.at("model") == expected.at("model") &&
         earlier.at("input").at("commit") == expected.at("input").at("commit") && is_same_config(earlier, expected) &&
         are_same_files(earlier, expected);
}

}  // namespace

bool are_results_complete(const PreparedRun& prepared, const RunConfig& config,
                          const std::function<bool(const std::string&, const std::string&)>& is_there) {
  const std::string file = run_json_path(config);
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) return false;
  try {
    const json earlier = parse_json_object(read_text_file(file, most_record_bytes), {.file = file});
    if (!is_same_run(earlier, prepared, config)) return false;
    return std::ranges::all_of(earlier.at("tables"), [&](const json& table) {
      const auto name = table.at("file").get<std::string>();
      const auto digest = table.at("sha256").get<std::string>();
      return is_there ? is_there(name, digest) : file_sha256(name) == digest;
    });
  } catch (const Error&) {
    return false;
  } catch (const json::exception&) {
    return false;
  }
}

}  // namespace attention_plasticity
