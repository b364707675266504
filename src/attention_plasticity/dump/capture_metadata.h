#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attention_plasticity/dump/dump_files.h"

namespace attention_plasticity {

/// The facts about a dump that the capture tool wrote into `_saver_state.json`.
struct CaptureMetadata {
  std::optional<std::string> model_name;
  std::optional<std::string> sampling_strategy;  ///< `uniform`, `log` or `all`
  /// Tokens of a bucket, > 0: `sampling_bucket_size`, or `sampling_min_bucket_size` for the strategy `log`.
  std::optional<double> bucket_size;
};

/// A number that a `config.json` states, and the path of that file.
struct StatedNumber {
  int value = 0;
  std::string file;

  friend bool operator==(const StatedNumber& stated, int number) { return stated.value == number; }
};

/// The sizes in a model's `config.json`, at the top level or in `text_config`; each >= 1.
struct ModelShape {
  std::optional<StatedNumber> num_layers;   ///< `num_hidden_layers`
  std::optional<StatedNumber> num_q_heads;  ///< `num_attention_heads`
  std::optional<StatedNumber> num_k_heads;  ///< `num_key_value_heads`
  /// Components of a query or key: `head_dim`; with latent attention `qk_nope_head_dim` + `qk_rope_head_dim`. None
  /// where the file does not state it, or states that layers differ (`global_head_dim`).
  std::optional<StatedNumber> width;
  /// The width of latent attention whose up-projection of keys is absorbed into the queries, so that all query heads
  /// read one key head: `kv_lora_rank` + `qk_rope_head_dim`. None for other models.
  std::optional<StatedNumber> absorbed_width;
};

/// Reads `folder/_saver_state.json`. All fields are empty when there is no such file. A file that cannot be read and a
/// field with a bad value are ignored, and each adds one line to `notes`.
CaptureMetadata read_capture_metadata(const std::filesystem::path& folder, std::vector<std::string>& notes,
                                      const DumpFiles& files = disk_files());

/// Reads `folder/config.json` by the same rules. Without these numbers query heads may be given the wrong keys, so the
/// lines are warnings.
ModelShape read_model_shape(const std::filesystem::path& folder, std::vector<std::string>& warnings,
                            const DumpFiles& files = disk_files());

/// The shape of a dump's model: from the `config.json` in `folder`, beside the heads; fields that are missing there
/// come from the one in the dump's `root`.
ModelShape find_model_shape(const std::filesystem::path& root, const std::filesystem::path& folder,
                            std::vector<std::string>& warnings, const DumpFiles& files = disk_files());

}  // namespace attention_plasticity
