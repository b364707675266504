#pragma once

#include <optional>
#include <span>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/rotation.h"
#include "attention_plasticity/synth/head_model.h"
#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// The rotation of the options; none without `rope_theta`.
std::optional<Rotation> make_rotation(const SynthOptions& options);

/// Adds mean + slope position to a row of noise, and rotates it by its position.
void place_row(const HeadModel& model, const std::optional<Rotation>& rotation, double position, std::span<float> row);

/// The sliding window of a layer; none: full attention.
std::optional<double> window_of_layer(const SynthOptions& options, int layer);

/// The rows of one file of a synthetic dump, ordered by document and position. The options must have passed `check`.
HeadRows generate_rows(const SynthOptions& options, Side side, HeadNumber head);

}  // namespace attention_plasticity
