#include "attention_plasticity/dump/capture_metadata.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <system_error>

#include "attention_plasticity/base/text_file.h"
#include "attention_plasticity/error.h"
#include "attention_plasticity/json/json.h"

namespace attention_plasticity {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A JSON object, and its file for notes.
struct Document {
  json object;
  std::string path;
  std::vector<std::string>& notes;

  void ignore(std::string_view field, std::string_view why) const {
    notes.push_back(fmt::format("{}: {} {}: ignored", path, field, why));
  }
};

std::optional<Document> read_document(const fs::path& file, std::vector<std::string>& notes, const DumpFiles& files) {
  if (!files.exists(file)) return std::nullopt;
  try {
    return Document{parse_json_object(files.text(file), {}), file.string(), notes};
  } catch (const Error& error) {
    notes.push_back(fmt::format("{}: {}: ignored", file.string(), error.what()));
    return std::nullopt;
  }
}

std::optional<std::string> text_field(const Document& document, const json& object, std::string_view name) {
  const json* field = find_field(object, name);
  if (field == nullptr) return std::nullopt;
  if (field->is_string()) return field->get<std::string>();
  document.ignore(name, "is not text");
  return std::nullopt;
}

std::optional<std::string> strategy_field(const Document& document, const json& object) {
  constexpr std::string_view name = "sampling_strategy";
  auto strategy = text_field(document, object, name);
  if (!strategy || *strategy == "uniform" || *strategy == "log" || *strategy == "all") return strategy;
  document.ignore(name, "is not uniform, log or all");
  return std::nullopt;
}

std::optional<double> size_field(const Document& document, const json& object, std::string_view name) {
  const json* field = find_field(object, name);
  if (field == nullptr) return std::nullopt;
  if (field->is_number()) {
    const double size = field->get<double>();
    if (size > 0 && std::isfinite(size)) return size;
  }
  document.ignore(name, "is not a number above 0");
  return std::nullopt;
}

/// The field is at the top level, or in `text_config` for multimodal models. Null when there is none.
const json* model_field(const Document& document, std::string_view name) {
  if (const json* field = find_field(document.object, name)) return field;
  const json* text_config = find_field(document.object, "text_config");
  return text_config == nullptr ? nullptr : find_field(*text_config, name);
}

std::optional<StatedNumber> count_field(const Document& document, std::string_view name) {
  const json* field = model_field(document, name);
  if (field == nullptr) return std::nullopt;
  if (const auto count = whole_number(*field, 1, std::numeric_limits<int>::max())) {
    return StatedNumber{static_cast<int>(*count), document.path};
  }
  document.ignore(name, "is not a whole number of at least 1");
  return std::nullopt;
}

std::optional<StatedNumber> sum_of(const std::optional<StatedNumber>& a, const std::optional<StatedNumber>& b) {
  if (!a || !b || a->value > std::numeric_limits<int>::max() - b->value) return std::nullopt;
  return StatedNumber{a->value + b->value, a->file};
}

std::optional<StatedNumber> stated_width(const Document& document) {
  if (model_field(document, "global_head_dim") != nullptr) return std::nullopt;
  // Such a config.json has a head_dim too, which is the width of the rotated part.
  if (model_field(document, "qk_nope_head_dim") != nullptr) {
    return sum_of(count_field(document, "qk_nope_head_dim"), count_field(document, "qk_rope_head_dim"));
  }
  return count_field(document, "head_dim");
}

}  // namespace

CaptureMetadata read_capture_metadata(const fs::path& folder, std::vector<std::string>& notes, const DumpFiles& files) {
  CaptureMetadata metadata;
  const auto document = read_document(folder / "_saver_state.json", notes, files);
  if (!document) return metadata;
  metadata.model_name = text_field(*document, document->object, "model_name");
  const json* capture = find_field(document->object, "model_metadata");
  if (capture == nullptr) return metadata;
  if (!capture->is_object()) {
    document->ignore("model_metadata", "is not a JSON object");
    return metadata;
  }
  metadata.sampling_strategy = strategy_field(*document, *capture);
  const bool grows = metadata.sampling_strategy == "log";
  metadata.bucket_size = size_field(*document, *capture, grows ? "sampling_min_bucket_size" : "sampling_bucket_size");
  return metadata;
}

ModelShape read_model_shape(const fs::path& folder, std::vector<std::string>& warnings, const DumpFiles& files) {
  ModelShape shape;
  const auto document = read_document(folder / "config.json", warnings, files);
  if (!document) return shape;
  shape.num_layers = count_field(*document, "num_hidden_layers");
  shape.num_q_heads = count_field(*document, "num_attention_heads");
  shape.num_k_heads = count_field(*document, "num_key_value_heads");
  shape.width = stated_width(*document);
  if (model_field(*document, "qk_nope_head_dim") != nullptr && model_field(*document, "kv_lora_rank") != nullptr) {
    shape.absorbed_width = sum_of(count_field(*document, "kv_lora_rank"), count_field(*document, "qk_rope_head_dim"));
  }
  return shape;
}

ModelShape find_model_shape(const fs::path& root, const fs::path& folder, std::vector<std::string>& warnings,
                            const DumpFiles& files) {
  ModelShape shape = read_model_shape(folder, warnings, files);
  if (folder == root) return shape;
  const ModelShape of_root = read_model_shape(root, warnings, files);
  if (!shape.num_layers) shape.num_layers = of_root.num_layers;
  if (!shape.num_q_heads) shape.num_q_heads = of_root.num_q_heads;
  if (!shape.num_k_heads) shape.num_k_heads = of_root.num_k_heads;
  if (!shape.width) shape.width = of_root.width;
  if (!shape.absorbed_width) shape.absorbed_width = of_root.absorbed_width;
  return shape;
}

}  // namespace attention_plasticity
