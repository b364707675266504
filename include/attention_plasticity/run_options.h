#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attention_plasticity/analysis_options.h"
#include "attention_plasticity/hub.h"
#include "attention_plasticity/rotation.h"

/// @file
/// Where a dump is, and how its heads are analysed. The names are those of the configuration (docs/configuration.md).

namespace attention_plasticity {

/// A dump on this machine.
struct DumpFolder {
  std::filesystem::path root = {};  ///< `dataset_local_root`
  std::string model_dir = {};       ///< folder of the heads below the root; empty: the root itself
};

/// A dump in a dataset of the Hugging Face Hub. Only the files that a run needs are downloaded.
struct HubDataset {
  std::string name = {};          ///< `dataset_name`, as org/name
  std::string revision = "main";  ///< `dataset_revision`: branch, tag or commit
  std::string model_dir = {};     ///< folder of the heads below the root of the repository; empty: the root itself
  HubSettings settings = {};      ///< how the Hub is reached, and the folder of the cache
  int download_max_workers = 8;   ///< files downloaded at a time, >= 1
  bool verify_cache = false;      ///< check the files that are in the cache already against the Hub's digests
};

/// Where a dump is.
using DumpSource = std::variant<DumpFolder, HubDataset>;

/// What to do about a NaN or an infinity in a vector: fail the head, or drop the row.
enum class NonFinite { error, drop };
/// Whose definitions are used: ours, or those of the released Python toolkit. python means method diagonal, sampler
/// bucket, weighting uniform, sliding_window_unit buckets, no standard errors and no triples, whatever the options say.
enum class Compat { none, python };
/// Where the rotation of position-exact plasticity comes from. automatic: the `rope_*` options, else `rope_config`,
/// else a config.json in the dump, else the vectors themselves. none: the model has no rotation, R = I.
enum class Rope { automatic, none };
/// What to do when the vectors contradict the rotation: warn, end the run with an error, or do not look.
enum class RotationCheck { warn, error, off };

/// How a dump is analysed. The defaults are those of the program.
struct RunOptions {
  // The model
  std::optional<int> num_layers = {};            ///< layers of the model, >= 1; none: discovered
  std::optional<int> num_q_heads = {};           ///< query heads of a layer, >= 1; none: discovered
  std::optional<int> num_k_heads = {};           ///< key heads of a layer, which must divide those; none: discovered
  std::optional<std::vector<int>> layers = {};   ///< to analyse, ascending, without repetition; none: all
  std::optional<std::vector<int>> q_heads = {};  ///< the same of each layer
  NonFinite non_finite = NonFinite::error;       ///< what to do about a NaN or an infinity
  int max_vector_width = 65536;                  ///< most components of a vector, >= 1; a head with more fails

  // The analysis
  Compat compat = Compat::none;   ///< whose definitions
  AnalysisOptions analysis = {};  ///< what is measured of each head

  // The rotation
  Rope rope = Rope::automatic;                         ///< where the rotation comes from
  std::optional<std::string> rope_config = {};         ///< path of a model's config.json
  std::optional<double> rope_theta = {};               ///< base of the rotary frequencies, > 0
  std::optional<int> rope_dim = {};                    ///< components that are rotated, even
  std::optional<RotaryLayout> rope_layout = {};        ///< which components form a pair
  std::optional<int> rope_first = {};                  ///< index of the first rotated component; none: 0
  std::optional<std::string> rope_scaling = {};        ///< a JSON object, as in a config.json
  RotationCheck rotation_check = RotationCheck::warn;  ///< when the vectors contradict the rotation

  // The machine
  std::optional<int> max_workers = {};  ///< heads analysed at a time, >= 1; none: one per core the process may use
  std::optional<std::uint64_t> memory_limit = {};  ///< bytes of heads, keys and results; none: no bound
  /// A folder, for this run alone, in which each head is saved as soon as it is finished. A run that finds heads there
  /// takes them instead of measuring them again; heads of other files, options or another version of the library are
  /// refused with Error(usage). The folder is the caller's to remove. None: no heads are saved.
  std::optional<std::filesystem::path> saved_heads = {};
};

}  // namespace attention_plasticity
