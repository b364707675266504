#pragma once

#include <optional>
#include <string>

#include "attention_plasticity/run/rotation_check.h"

namespace attention_plasticity {

/// The rotation that a dump's vectors themselves show.
struct InferredRotation {
  std::optional<DumpRotation> rotation;  ///< none: the vectors do not decide
  std::optional<RotationShares> shares;  ///< none: no file could be read
  std::string line;                      ///< for the user: what was inferred, or why nothing was
  bool may_be_wrong = false;             ///< the line is a warning
};

/// A layout and part with the theta that fits the vectors best, and its share of the dump and of each layer.
struct RefinedWay {
  RotationWay way;
  double share = 0;
  std::vector<double> of_layer;  ///< by RotationShares::layers
};

/// One for each layout and part that the width allows, the largest share first. Reads the files of the evidence again.
std::vector<RefinedWay> refined_ways(RotationEvidence& evidence, const RunConfig& config);

/// What follows from the shares and from the refined ways (docs/method.md).
InferredRotation inferred_rotation(RotationShares shares, const std::vector<RefinedWay>& refined);

/// Infers the rotation of a run from the files of its heads, which are read twice.
InferredRotation infer_rotation(std::vector<RotationFile> files, const RunConfig& config);

/// Says that it cannot be done, for vectors that were captured before the rotation.
extern const char* const pre_vectors_show_no_rotation;

}  // namespace attention_plasticity
