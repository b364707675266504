#pragma once

#include <optional>
#include <string>

#include "attention_plasticity/json/json.h"
#include "attention_plasticity/rotation/dump_rotation.h"
#include "attention_plasticity/rotation/evidence.h"

// The rotation of a run as JSON. Included by .cc files only, since it shows nlohmann-json.

namespace attention_plasticity {

/// The object `rotation` of run.json (docs/formats.md): `source`, the candidates as `ways`, the `share` of each and of
/// the `configured` one, and the shares of `layers`. Candidates that the width of some head does not fit are left out.
/// `source` none: the rotation is unknown. `shares` null: not measured.
Json rotation_json(std::optional<RotationSource> source, const RotationShares* shares);

/// The rotation that was decided for a run, and the shares that an inferred one was found by.
struct DecidedRotation {
  std::optional<DumpRotation> rotation;  ///< none: unknown
  std::optional<RotationShares> shares;  ///< none: not measured
};

/// rotation_json() and, as `width` and `origin`, everything that another process needs to use the same rotation and to
/// check it against the same candidates. Numbers are exact to the last bit.
Json rotation_record(const DecidedRotation& decided);

/// Reads a rotation_record(). Shares under further candidates are not recorded. Throws Error(input) for anything that
/// rotation_record() does not write: a wrong type, lists whose lengths differ, numbers out of range, a rotation that
/// cannot be used.
DecidedRotation read_rotation_record(const nlohmann::json& record, const std::string& file);

/// True if two records, which may be of different runs, describe the same rotation and, where both have determined
/// them, the same refined candidates. Shares may differ. Throws nlohmann::json::exception for other objects.
bool is_same_rotation(const nlohmann::json& one, const nlohmann::json& other);

}  // namespace attention_plasticity
