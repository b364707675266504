#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// How positions were divided into buckets when the dump was captured.
struct BucketSampling {
  bool logarithmic = false;           ///< true: each bucket is twice as large as the one before
  std::optional<double> bucket_size;  ///< tokens, > 0; size of the smallest bucket when logarithmic
};

/// What run.json says about the model and the sampling.
struct RunDescription {
  std::optional<std::string> model;
  int num_layers = 0;
  int num_q_heads = 0;
  int num_k_heads = 0;
  std::map<int, std::int64_t> windows;  ///< sliding window in tokens, by layer known to have one
  std::optional<BucketSampling> sampling = {};
};

/// Parses run.json. Throws Error(input), naming the key, for text that is not the run.json of a run.
RunDescription parse_run_description(std::string_view text, const std::string& file);

}  // namespace attention_plasticity
