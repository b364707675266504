#pragma once

#include <optional>
#include <span>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/dump/layout.h"
#include "attention_plasticity/rotary/rotation.h"
#include "attention_plasticity/synth/head_model.h"
#include "attention_plasticity/synth/options.h"

namespace attention_plasticity {

/// The rotation that the options ask for, if any.
std::optional<Rotation> make_rotation(const SynthOptions& options);

/// Adds mean + slope position to a row of noise and turns it to its position.
void place_row(const HeadModel& model, const std::optional<Rotation>& rotation, double position, std::span<float> row);

/// The window of a layer's queries.
std::optional<double> window_of_layer(const SynthOptions& options, int layer);

/// One file of a synthetic dump: rows by document and position. The options must have passed `check`.
HeadRows generate_rows(const SynthOptions& options, Side side, HeadKey head);

}  // namespace attention_plasticity
