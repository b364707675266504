#include "attention_plasticity/source/run_rotation.h"

#include <string>
#include <utility>
#include <vector>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;

std::optional<RotarySettings> settings_of(const RunConfig& config) {
  if (!config.rope_theta && !config.rope_dim && !config.rope_layout && !config.rope_first && !config.rope_scaling) {
    return std::nullopt;
  }
  RotarySettings settings{.theta = config.rope_theta, .layout = config.rope_layout, .scaling = config.rope_scaling};
  settings.first = static_cast<std::size_t>(config.rope_first.value_or(0));
  if (config.rope_dim) settings.dim = static_cast<std::size_t>(*config.rope_dim);
  return settings;
}

ModelConfigText given_config(const std::string& file) {
  try {
    if (!disk_files().exists(file)) throw Error(ErrorKind::input, "there is no such file");
    return {file, disk_files().text(file)};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    throw Error(ErrorKind::usage, std::string("rope_config: ") + error.what(), file);
  }
}

// find_model_shape has noted a file that cannot be read.
std::vector<ModelConfigText> configs_in(const fs::path& root, const DumpLayout& layout) {
  std::vector<ModelConfigText> configs;
  for (const fs::path& folder : {layout.folder, root}) {
    const fs::path file = folder / "config.json";
    try {
      if (layout.files().exists(file)) configs.push_back({file.string(), layout.files().text(file)});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
    }
  }
  return configs;
}

}  // namespace

std::optional<DumpRotation> stated_rotation(const RunConfig& config, const fs::path& root, const DumpLayout& layout,
                                            const std::function<double()>& largest_position) {
  StatedRotation stated{.is_none = config.rope == Rope::none};
  std::vector<ModelConfigText> found;
  if (!stated.is_none) stated.settings = settings_of(config);
  if (!stated.is_none && !stated.settings) {
    if (config.rope_config) {
      stated.given = given_config(*config.rope_config);
    } else {
      found = configs_in(root, layout);
      stated.found = found;
    }
  }
  return find_rotation(stated, largest_position);
}

bool is_rotation_checked(const PreparedRun& prepared, const RunConfig& config) {
  return prepared.rotation && prepared.rotation->source != RotationSource::inferred &&
         config.rotation_check != RotationCheck::off;
}

std::unique_ptr<RotationChecker> rotation_checker(const PreparedRun& prepared, const RunConfig& config) {
  if (!prepared.rotation || !is_rotation_checked(prepared, config)) return nullptr;
  return std::make_unique<RotationChecker>(*prepared.rotation, config.analysis.vectors, config.rope,
                                           sides_of(prepared.tasks));
}

}  // namespace attention_plasticity
