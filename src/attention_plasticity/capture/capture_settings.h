#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attention_plasticity/settings/field.h"

namespace attention_plasticity {

/// Which positions of a document are captured, and where buckets begin (capture/position_sampler.h).
enum class Sampling { uniform, log_uniform, all };

/// As the public capture tool calls it, in _saver_state.json: uniform, log or all.
std::string_view sampling_strategy(Sampling sampling);

/// What is captured of a model, and how a dump is written.
struct CaptureSettings {
  Sampling sampling = Sampling::uniform;
  std::size_t bucket_size = 128;  ///< tokens; with log_uniform, of the smallest bucket
  double rows_per_bucket = 4;     ///< expected rows of each bucket of a document
  std::uint64_t seed = 0;         ///< 0: the positions of the public capture tool
  std::vector<int> layers;        ///< empty: all
  std::vector<int> heads;         ///< query heads of each layer, with the key heads that they read; empty: all
  std::optional<int> max_length;  ///< longest document in tokens
  bool overwrite = false;         ///< replaces a dump, or an unfinished capture of something else
};

/// The fields of the settings.
const FieldTable<CaptureSettings>& capture_table();

/// The settings that were given, and defaults. Throws Error(usage), which names the field.
CaptureSettings resolve_capture(std::span<const Setting> settings);

}  // namespace attention_plasticity
