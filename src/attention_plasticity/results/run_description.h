#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace attention_plasticity {

/// How positions were shared out among buckets when the dump was captured.
struct BucketSampling {
  bool logarithmic = false;           ///< each bucket twice as large as the one before
  std::optional<double> bucket_size;  ///< in tokens, > 0; of logarithmic ones the least
};

/// What run.json says of the model.
struct RunDescription {
  std::optional<std::string> model;
  int num_layers = 0;
  int num_q_heads = 0;
  int num_k_heads = 0;
  std::map<int, std::int64_t> windows;  ///< in tokens, of the layers known to slide
  std::optional<BucketSampling> sampling = {};
};

/// Throws Error(input), naming the key, for what is not the run.json of a run.
RunDescription parse_run_description(std::string_view text, const std::string& file);

}  // namespace attention_plasticity
