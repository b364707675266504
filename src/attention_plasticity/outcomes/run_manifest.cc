#include "attention_plasticity/outcomes/run_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"
#include "attention_plasticity/options/config_fields.h"
#include "attention_plasticity/results/run_json.h"
#include "attention_plasticity/rotation/rotation_json.h"
#include "attention_plasticity/version.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// To be raised when the layout of manifests changes.
constexpr int manifest_schema = 2;

Json program_record() {
  const ProgramVersion program = program_version();
  return {{"version", program.version},
          {"commit", program.commit},
          {"schema", run_json_schema},
          {"manifest", manifest_schema},
          {"simd", program.simd}};
}

Json input_record(const PreparedRun& prepared) {
  Json files = Json::array();
  for (const RecordedFile& file : recorded_files(prepared)) {
    files.push_back({{"file", file.file},
                     {"bytes", file.bytes},
                     {"modified_ns", value_or_null(file.modified_ns)},
                     {"etag", value_or_null(file.etag)}});
  }
  std::error_code unknown;
  const bool is_stored = prepared.layout.files().are_remote();
  const fs::path absolute = is_stored ? prepared.layout.folder : fs::absolute(prepared.layout.folder, unknown);
  Json hub = nullptr;
  if (prepared.hub) {
    hub = {{"repo", prepared.hub->repo}, {"revision", prepared.hub->revision}, {"commit", prepared.hub->commit}};
  }
  return {{"folder", prepared.layout.folder.string()},
          {"absolute",
           is_stored ? absolute.string() : (unknown ? prepared.layout.folder : absolute).lexically_normal().string()},
          {"hub", std::move(hub)},
          {"files", std::move(files)}};
}

Json model_record(const PreparedRun& prepared) {
  Json width = nullptr;
  if (prepared.model_width) width = {{"value", prepared.model_width->value}, {"file", prepared.model_width->file}};
  return {{"name", prepared.model_name},
          {"num_layers", prepared.grid.num_layers},
          {"num_q_heads", prepared.grid.num_q_heads},
          {"num_k_heads", prepared.grid.num_k_heads},
          {"width", std::move(width)},
          {"sampling_strategy", value_or_null(prepared.sampling_strategy)},
          {"sampling_bucket_size", value_or_null(prepared.sampling_bucket_size)}};
}

// A head, and the folders of its two files.
Json heads_record(const PreparedRun& prepared) {
  const auto file = [&](const HeadSide& side) {
    return prepared.layout.file(side.side, side.head).lexically_relative(prepared.layout.folder).generic_string();
  };
  Json heads = Json::array();
  for (const HeadTask& task : prepared.tasks) {
    heads.push_back({{"layer", task.head.layer},
                     {"q_head", task.head.q_head},
                     {"k_head", task.head.k_head},
                     {"queries", file(queries_of(task.head))},
                     {"keys", file(keys_of(task.head))}});
  }
  return heads;
}

Json documents_record(const PreparedRun& prepared) {
  Json ranges = Json::array();
  for (const DocumentRange& range : prepared.reference_documents) ranges.push_back({range.first, range.last});
  return ranges;
}

std::vector<DocumentRange> recorded_documents(const json& record) {
  std::vector<DocumentRange> ranges;
  for (const json& range : record) {
    ranges.push_back({recorded<std::uint64_t>(range.at(0)), recorded<std::uint64_t>(range.at(1))});
    const bool is_after = ranges.size() == 1 || ranges.back().first > ranges[ranges.size() - 2].last;
    if (!is_after || ranges.back().last < ranges.back().first) {
      throw json::out_of_range::create(406, "documents are not in order", &record);
    }
  }
  return ranges;
}

// Adds a captured head to a layout.
void note_folder(DumpLayout& layout, const HeadSide& side, const fs::path& file) {
  (side.side == Side::query ? layout.queries : layout.keys).insert(side.head);
  const std::string folder = file.parent_path().filename().string();
  if (folder != head_folder_name(side.side, side.head)) layout.unusual_names[{side.side, side.head}] = folder;
}

json parsed(std::string_view manifest, const std::string& file) { return parse_json_object(manifest, {.file = file}); }

// What `read` makes of a manifest; an Error(input) for one that is not whole.
template <typename Read>
auto reading(const std::string& file, const Read& read) {
  try {
    return read();
  } catch (const json::exception& error) {
    throw Error(ErrorKind::input, fmt::format("not the record of a run: {}", error.what()), file);
  }
}

std::string shown(const json& value) {
  return value.is_null() ? "not set" : shown_text(value.is_string() ? value.get<std::string>() : value.dump());
}

class Comparison {
 public:
  Comparison(const json& one, const json& other, const ManifestComparison& by) : one_(one), other_(other), by_(by) {}

  std::vector<std::string> of_programs() {
    program();
    return std::move(found_);
  }

  std::vector<std::string> differences() {
    program();
    config();
    input();
    model();
    heads();
    if (!is_same_rotation(one_.at("rotation"), other_.at("rotation"))) {
      found_.emplace_back("the rotation is another (config.json of the model, or what is inferred from the vectors)");
    }
    if (one_.at("documents") != other_.at("documents")) {
      found_.emplace_back("the documents of the first head, which decide the jackknife groups, are others");
    }
    return std::move(found_);
  }

 private:
  void different(const std::string& what, const json& one, const json& other) {
    found_.push_back(fmt::format("{} was {} and is {}", what, shown(one), shown(other)));
  }

  void program() {
    for (const auto& [key, value] : one_.at("program").items()) {
      if (key == "simd" && !by_.simd) continue;
      const json now = other_.at("program").value(key, json());
      if (value == now) continue;
      different(key == "simd" ? "the instruction set" : fmt::format("the program's {}", key), value, now);
    }
  }

  void config() {
    for (const Field& field : config_fields()) {
      if (!field.decides_figures) continue;
      const json one = one_.at("config").value(field.name, json());
      const json other = other_.at("config").value(field.name, json());
      if (one != other) different(fmt::format("`{}`", field.name), one, other);
    }
  }

  void input() {
    const json& hub = one_.at("input").at("hub");
    const json& other_hub = other_.at("input").at("hub");
    const auto address = [](const json& from) {
      return from.is_null()
                 ? json("a dump on disk")
                 : json(from.at("repo").get<std::string>() + " commit " + from.at("commit").get<std::string>());
    };
    if (address(hub) != address(other_hub)) different("the dump", address(hub), address(other_hub));
    // A commit of the Hub names the content of all its files, and they may still be in flight.
    if (!hub.is_null() || !other_hub.is_null()) return;
    std::map<std::string, const json*> files;
    for (const json& file : other_.at("input").at("files")) files[file.at("file").get<std::string>()] = &file;
    for (const json& file : one_.at("input").at("files")) {
      const auto name = file.at("file").get<std::string>();
      if (by_.counts && !by_.counts(name)) continue;
      const auto now = files.find(name);
      if (now == files.end()) {
        found_.push_back(fmt::format("{} is not there any more", shown_text(name)));
      } else if (file.at("bytes") != now->second->at("bytes")) {
        different(fmt::format("the size of {}", shown_text(name)), file.at("bytes"), now->second->at("bytes"));
      } else if (by_.times && file.at("modified_ns") != now->second->at("modified_ns")) {
        found_.push_back(fmt::format("{} was modified since", shown_text(name)));
      }
    }
  }

  // The width comes with the path of its config.json, which may differ.
  void model() {
    for (const auto& [key, value] : one_.at("model").items()) {
      const json now = other_.at("model").value(key, json());
      const bool is_name_of_copy = key == "name" && !by_.times;  // the folder's name, of most dumps
      if (key != "width" && !is_name_of_copy && value != now) different(fmt::format("the model's {}", key), value, now);
    }
  }

  void heads() {
    const auto ids = [](const json& manifest) {
      std::set<HeadId> all;
      for (const json& head : manifest.at("heads")) {
        all.insert(
            {recorded<int>(head.at("layer")), recorded<int>(head.at("q_head")), recorded<int>(head.at("k_head"))});
      }
      return all;
    };
    const std::set<HeadId> one = ids(one_);
    const std::set<HeadId> other = ids(other_);
    if (one == other) return;
    std::vector<HeadId> only;
    std::ranges::set_symmetric_difference(one, other, std::back_inserter(only));
    found_.push_back(fmt::format("the dump had {} selected heads and has {}; layer {} q_head {} is in one of them only",
                                 one.size(), other.size(), only.front().layer, only.front().q_head));
  }

  const json& one_;
  const json& other_;
  const ManifestComparison& by_;
  std::vector<std::string> found_;
};

}  // namespace

std::string manifest_text(const PreparedRun& prepared, const RunConfig& config) {
  Json fields = Json::object();
  for (const Setting& setting : all_settings(config)) fields[setting.field] = value_or_null(setting.value);
  const Json json{{"program", program_record()},
                  {"config", std::move(fields)},
                  {"input", input_record(prepared)},
                  {"model", model_record(prepared)},
                  {"rotation", rotation_record({prepared.rotation, prepared.rotation_shares})},
                  {"documents", documents_record(prepared)},
                  {"skipped", prepared.skipped},
                  {"heads", heads_record(prepared)}};
  return json_text(json, 1) + "\n";
}

std::vector<std::string> manifest_differences(std::string_view one, std::string_view other,
                                              const ManifestComparison& by) {
  return reading("", [&] {
    const json first = parsed(one, "");
    const json second = parsed(other, "");
    return Comparison(first, second, by).differences();
  });
}

std::vector<std::string> program_differences(std::string_view manifest) {
  return reading("", [&] {
    const json own{{"program", json::parse(program_record().dump())}};
    const json recorded = parsed(manifest, "");
    const ManifestComparison by{.simd = false};
    return Comparison(recorded, own, by).of_programs();
  });
}

PreparedRun recorded_run(std::string_view manifest, const std::string& file) {
  return reading(file, [&] {
    const json record = parsed(manifest, file);
    PreparedRun prepared;
    const json& input = record.at("input");
    prepared.layout.folder = input.at("folder").get<std::string>();
    if (const json& hub = input.at("hub"); !hub.is_null()) {
      prepared.hub = HubOrigin{hub.at("repo").get<std::string>(), hub.at("revision").get<std::string>(),
                               hub.at("commit").get<std::string>()};
    }
    std::vector<RecordedFile> files;
    for (const json& entry : input.at("files")) {
      files.push_back({entry.at("file").get<std::string>(), recorded<std::uint64_t>(entry.at("bytes")),
                       recorded_or_none<std::int64_t>(entry.at("modified_ns")),
                       recorded_or_none<std::string>(entry.at("etag"))});
    }
    prepared.known_files = std::move(files);
    const json& model = record.at("model");
    prepared.grid = {recorded<int>(model.at("num_layers")), recorded<int>(model.at("num_q_heads")),
                     recorded<int>(model.at("num_k_heads"))};
    prepared.model_name = model.at("name").get<std::string>();
    if (const json& width = model.at("width"); !width.is_null()) {
      prepared.model_width = StatedNumber{recorded<int>(width.at("value")), width.at("file").get<std::string>()};
    }
    prepared.sampling_strategy = recorded_or_none<std::string>(model.at("sampling_strategy"));
    prepared.sampling_bucket_size = recorded_or_none<double>(model.at("sampling_bucket_size"));
    DecidedRotation rotation = read_rotation_record(record.at("rotation"), file);
    prepared.rotation = std::move(rotation.rotation);
    prepared.rotation_shares = std::move(rotation.shares);
    prepared.reference_documents = recorded_documents(record.at("documents"));
    prepared.skipped = recorded<std::size_t>(record.at("skipped"));
    for (const json& head : record.at("heads")) {
      HeadTask task;
      task.head = {recorded<int>(head.at("layer")), recorded<int>(head.at("q_head")), recorded<int>(head.at("k_head"))};
      note_folder(prepared.layout, queries_of(task.head), head.at("queries").get<std::string>());
      note_folder(prepared.layout, keys_of(task.head), head.at("keys").get<std::string>());
      prepared.tasks.push_back(task);
    }
    return prepared;
  });
}

std::vector<Setting> recorded_settings(std::string_view manifest, const std::string& file) {
  return reading(file, [&] {
    std::vector<Setting> settings;
    const json record = parsed(manifest, file);
    for (const auto& [name, value] : record.at("config").items()) {
      settings.push_back({name, recorded_or_none<std::string>(value), fmt::format("{}: {}", file, name)});
    }
    return settings;
  });
}

std::string recorded_simd(std::string_view manifest, const std::string& file) {
  return reading(file, [&] { return parsed(manifest, file).at("program").at("simd").get<std::string>(); });
}

fs::path recorded_folder(std::string_view manifest, const std::string& file) {
  return reading(file, [&] { return fs::path(parsed(manifest, file).at("input").at("absolute").get<std::string>()); });
}

}  // namespace attention_plasticity
