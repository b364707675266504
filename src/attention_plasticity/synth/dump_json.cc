#include "attention_plasticity/synth/dump_json.h"

#include <cmath>
#include <vector>

#include "attention_plasticity/json/json.h"
#include "attention_plasticity/synth/context.h"
#include "attention_plasticity/synth/generated_rows.h"
#include "attention_plasticity/synth/head_model.h"
#include "attention_plasticity/synth/truth.h"

namespace attention_plasticity {
namespace {

std::string spacing_name(const SynthOptions& options) {
  return options.spacing == BucketSpacing::log ? "log" : "uniform";
}

std::string layout_name(const SynthOptions& options) {
  return options.rope_layout == RotaryLayout::half ? "half" : "interleaved";
}

Json options_json(const SynthOptions& options) {
  Json json;
  json["layers"] = options.layers;
  json["q_heads"] = options.q_heads;
  json["k_heads"] = options.k_heads;
  json["rows"] = options.rows;
  json["dim"] = options.dim;
  json["examples"] = options.examples;
  json["spacing"] = spacing_name(options);
  json["buckets"] = options.buckets;
  json["bucket_size"] = options.spacing == BucketSpacing::log ? Json(nullptr) : Json(options.bucket_size);
  json["slope"] = options.slope;
  json["mean"] = options.mean;
  json["spectrum"] = options.spectrum;
  json["example_effect"] = options.example_effect;
  json["tails"] = options.tails == Tails::heavy ? "heavy" : "normal";
  json["bfloat16"] = options.bfloat16;
  json["rope_theta"] = value_or_null(options.rope_theta);
  json["rope_layout"] = layout_name(options);
  json["rope_dim"] = value_or_null(options.rope_dim);
  json["rope_first"] = options.rope_first;
  json["window"] = value_or_null(options.window);
  json["sliding_layers"] = options.sliding_layers;
  json["truth_pairs"] = options.truth_pairs;
  json["seed"] = options.seed;
  json["document_seed"] = truth_seed(options);
  return json;
}

// Wider matrices would take nearly all of the file. They can be computed from the seed.
constexpr std::size_t widest_matrix = 64;

Json covariance_json(const HeadModel& model) {
  Json json{{"eigenvalues", model.eigenvalues}, {"axes_seed", model.axes_seed}};
  if (model.dim() > widest_matrix) return json;
  const Matrix covariance = noise_covariance(model);
  json["matrix"] = Json::array();
  for (std::size_t i = 0; i < covariance.rows(); ++i) {
    const auto row = covariance.row(i);
    json["matrix"].push_back(std::vector<double>(row.begin(), row.end()));
  }
  return json;
}

// NaN is written as null.
Json estimate_json(const Estimate& estimate) { return {{"value", estimate.value}, {"error", estimate.error}}; }

Json head_json(const SynthOptions& options, HeadNumber head) {
  const HeadNumber key_head = key_head_of(options, head);
  const HeadModel queries = make_head_model(options, Side::query, head);
  const HeadTruth truth = head_truth(options, head);
  Json json;
  json["layer"] = head.layer;
  json["q_head"] = head.head;
  json["k_head"] = key_head.head;
  json["window"] = value_or_null(window_of_layer(options, head.layer));
  json["plasticity"] = estimate_json(truth.plasticity);
  json["plasticity"]["pairs"] = truth.pairs;
  json["choice"] = estimate_json(truth.choice);
  json["exact"] = estimate_json(truth.exact.plasticity);
  json["exact"]["triples"] = truth.exact.triples;
  json["by_bucket"] = Json::array();
  for (const CellTruth& cell : truth.cells) {
    json["by_bucket"].push_back({{"q_bucket", cell.query_bucket},
                                 {"k_bucket", cell.key_bucket},
                                 {"value", cell.plasticity.value},
                                 {"error", cell.plasticity.error}});
  }
  json["mean"] = queries.mean;
  json["slope"] = queries.slope;
  json["covariance"] = covariance_json(queries);
  json["key_covariance"] = covariance_json(make_head_model(options, Side::key, key_head));
  return json;
}

}  // namespace

std::string truth_json(const SynthOptions& options,
                       const std::function<void(std::size_t done, std::size_t total)>& progress) {
  Json json;
  json["schema"] = 1;
  json["options"] = options_json(options);
  json["heads"] = Json::array();
  const std::size_t total = static_cast<std::size_t>(options.layers) * static_cast<std::size_t>(options.q_heads);
  for (int layer = 0; layer < options.layers; ++layer) {
    for (int head = 0; head < options.q_heads; ++head) {
      json["heads"].push_back(head_json(options, {layer, head}));
      if (progress) progress(json["heads"].size(), total);
    }
  }
  return json.dump(1) + "\n";
}

std::string model_config_json(const SynthOptions& options) {
  Json json;
  json["model_type"] = "synthetic";
  json["num_hidden_layers"] = options.layers;
  json["num_attention_heads"] = options.q_heads;
  json["num_key_value_heads"] = options.k_heads;
  json["head_dim"] = options.dim;
  json["max_position_embeddings"] = Context(options).tokens();
  if (options.rope_theta) {
    json["rope_parameters"] = {{"rope_theta", *options.rope_theta}, {"rope_type", "default"}};
    json["rope_layout"] = layout_name(options);
    if (options.rope_dim) json["rotary_dim"] = *options.rope_dim;
    if (options.rope_first != 0) json["rope_first"] = options.rope_first;
  } else {
    json["position_embedding_type"] = "nope";
  }
  if (options.window) {
    json["sliding_window"] = *options.window;
    for (int layer = 0; layer < options.layers; ++layer) {
      json["layer_types"].push_back(window_of_layer(options, layer) ? "sliding_attention" : "full_attention");
    }
  }
  return json.dump(2) + "\n";
}

std::string saver_state_json(const SynthOptions& options) {
  Json metadata;
  metadata["attention_scope"] = "all_attention";
  metadata["sampling_strategy"] = spacing_name(options);
  // The smallest power of two is one token.
  if (options.spacing == BucketSpacing::log) metadata["sampling_min_bucket_size"] = 1;
  if (options.spacing == BucketSpacing::uniform) metadata["sampling_bucket_size"] = options.bucket_size;
  metadata["source_dataset"] = "synthetic";
  const Json json = {{"model_metadata", metadata}, {"model_name", "synthetic"}};
  return json.dump(2) + "\n";
}

}  // namespace attention_plasticity
