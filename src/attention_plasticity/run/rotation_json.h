#pragma once

#include <optional>
#include <string>

#include "attention_plasticity/run/rotation_evidence.h"
#include "attention_plasticity/run/rotation_source.h"

namespace attention_plasticity {

/// The object `rotation` of run.json, as text (docs/formats.md): `source`, the `ways` that were tried, the `share` of
/// each and of the `configured` one, and the same by `layers`. `source` none: the rotation is unknown. `shares` null:
/// not measured.
std::string rotation_json_text(std::optional<RotationSource> source, const RotationShares* shares);

}  // namespace attention_plasticity
