#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention_plasticity/rotation/dump_rotation.h"
#include "attention_plasticity/rotation/evidence.h"

namespace attention_plasticity {

/// The rotation that a dump's vectors themselves show.
struct InferredRotation {
  std::optional<DumpRotation> rotation;  ///< none: the vectors do not decide
  std::optional<RotationShares> shares;  ///< none: no head could be read
  std::string line;                      ///< for the user: the rotation, or why there is none
  bool may_be_wrong = false;             ///< the line is a warning
};

/// A layout and part with the theta that fits the vectors best, and its share of the dump and of each layer.
struct RefinedCandidate {
  RotationCandidate candidate;
  double share = 0;
  std::vector<double> of_layer;  ///< by RotationShares::layers
};

/// Everything that vectors show about their rotation.
struct ObservedRotation {
  RotationShares shares;  ///< under the common candidates and the configured rotation
  /// One for each common shape that the width of the vectors allows, the largest share first.
  std::vector<RefinedCandidate> refined;
};

/// Refines theta for every common shape and measures the shares of all candidates. Reads judged_heads() of `heads`
/// twice. `configured` may be empty. None if no head can be read.
std::optional<ObservedRotation> observe_rotation(const std::vector<HeadSide>& heads, const RotationRows& rows,
                                                 const RotationOfLayer& configured);

/// Decides between the candidates (docs/method.md).
InferredRotation decide_rotation(ObservedRotation observed);

/// Infers the rotation of a run whose configuration states none. Reads judged_heads() of `heads` twice.
InferredRotation infer_rotation(const std::vector<HeadSide>& heads, const RotationRows& rows);

/// The note for vectors that were captured before the rotation, from which it cannot be inferred.
inline constexpr std::string_view pre_vectors_show_no_rotation =
    "position-exact plasticity is left out, since the model's rotation is unknown and vectors captured before it do "
    "not show it: pass `rope_config` with the model's config.json, or `rope_theta`";

}  // namespace attention_plasticity
