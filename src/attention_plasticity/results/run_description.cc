#include "attention_plasticity/results/run_description.h"

#include <fmt/format.h>

#include "attention_plasticity/base/text.h"
#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

constexpr std::int64_t most_heads = 10'000;
constexpr std::int64_t longest_window = 9'007'199'254'740'992;  // 2^53: what a JSON number holds exactly

const nlohmann::json& member(const nlohmann::json& object, const char* key, nlohmann::json::value_t type,
                             const std::string& file) {
  const auto found = object.find(key);
  if (found != object.end() && found->type() == type) return *found;
  throw Error(ErrorKind::input,
              fmt::format("has no {}, so it is not the run.json of a run; move it away to use the metrics alone", key),
              file);
}

std::map<int, std::int64_t> sliding_windows(const nlohmann::json& layers, int num_layers, const std::string& file) {
  std::map<int, std::int64_t> windows;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string place = fmt::format("model.layers[{}].", i);
    if (!layers[i].is_object()) {
      throw Error(ErrorKind::input, fmt::format("model.layers[{}] should be an object", i), file);
    }
    const auto attention = layers[i].find("attention");
    if (attention == layers[i].end() || (*attention != "full" && *attention != "sliding")) {
      throw Error(ErrorKind::input, place + "attention should be full or sliding", file);
    }
    const auto layer = static_cast<int>(whole_number_field(layers[i], "layer", 0, num_layers - 1, place, file));
    if (*attention == "sliding")
      windows[layer] = whole_number_field(layers[i], "window", 1, longest_window, place, file);
  }
  return windows;
}

// None when run.json does not state the sampling, or states it in another way: older runs do.
std::optional<BucketSampling> bucket_sampling(const nlohmann::json& json) {
  const auto sampling = json.find("sampling");
  if (sampling == json.end() || !sampling->is_object()) return std::nullopt;
  const auto strategy = sampling->find("strategy");
  if (strategy == sampling->end() || !strategy->is_string()) return std::nullopt;
  BucketSampling known{*strategy == "log", std::nullopt};
  const auto size = sampling->find("bucket_size");
  if (size != sampling->end() && size->is_number() && size->get<double>() > 0) known.bucket_size = size->get<double>();
  return known;
}

}  // namespace

RunDescription parse_run_description(std::string_view text, const std::string& file) {
  const nlohmann::json json = parse_json_object(text, {.file = file, .unique_keys = true});
  const nlohmann::json& model = member(json, "model", nlohmann::json::value_t::object, file);
  const auto count = [&](const char* key) {
    return static_cast<int>(whole_number_field(model, key, 1, most_heads, "model.", file));
  };
  RunDescription run;
  const auto name = model.find("name");
  if (name != model.end() && name->is_string() && !name->get<std::string>().empty()) run.model = *name;
  run.num_layers = count("num_layers");
  run.num_q_heads = count("num_q_heads");
  run.num_k_heads = count("num_k_heads");
  if (run.num_q_heads % run.num_k_heads != 0) {
    throw Error(ErrorKind::input,
                fmt::format("model.num_q_heads should be a multiple of model.num_k_heads: {} is not a multiple of {}",
                            run.num_q_heads, run.num_k_heads),
                file);
  }
  run.windows = sliding_windows(member(model, "layers", nlohmann::json::value_t::array, file), run.num_layers, file);
  run.sampling = bucket_sampling(json);
  return run;
}

}  // namespace attention_plasticity
