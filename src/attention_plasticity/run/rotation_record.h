#pragma once

#include <optional>

#include "attention_plasticity/json/json.h"
#include "attention_plasticity/run/rotation_evidence.h"
#include "attention_plasticity/run/rotation_source.h"

// The rotation of a run as JSON, exact to the last bit, so that another process takes the same. Included by .cc files
// only, since it shows nlohmann-json.

namespace attention_plasticity {

/// Null for none.
Json rotation_record(const std::optional<DumpRotation>& rotation);
/// Throws nlohmann::json::exception or Error for what rotation_record did not write.
std::optional<DumpRotation> recorded_rotation(const nlohmann::json& record);

/// The shares that an inferred rotation was found by; null for none.
Json shares_record(const std::optional<RotationShares>& shares);
std::optional<RotationShares> recorded_shares(const nlohmann::json& record);

}  // namespace attention_plasticity
