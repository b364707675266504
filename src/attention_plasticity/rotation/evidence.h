#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "attention_plasticity/base/head_number.h"
#include "attention_plasticity/rotation/candidates.h"
#include "attention_plasticity/rows.h"

// Evidence for and against rotations: how much of the vectors' energy is fixed when they are un-rotated, that is,
// belongs to a mean that does not depend on position.

namespace attention_plasticity {

/// A dump or layer is undecided, and nothing is said of its rotation, when the largest share of it is below this.
constexpr double least_decided_share = 0.02;

/// Calls `use` once with the rows of a side of a head. Throws Error(input) or std::bad_alloc for rows that cannot be
/// read: they are no evidence. Other errors end the run.
using RotationRows = std::function<void(const HeadSide& head, const std::function<void(const RowsView&)>& use)>;

/// The heads by which a rotation is judged, in order: of each layer the first 4 query heads and the first 4 key heads.
std::vector<HeadSide> judged_heads(std::vector<HeadSide> heads);

/// The heads among judged_heads() on which theta is refined for the check of a rotation: the first query and key head
/// of up to 8 layers, spread evenly.
std::vector<HeadSide> heads_for_check(const std::vector<HeadSide>& judged);

/// The heads among judged_heads() on which theta is refined to infer a rotation: as for the check, but where there are
/// fewer layers, further heads take their place, so that theta is known as well from a small dump.
std::vector<HeadSide> heads_for_inference(const std::vector<HeadSide>& judged);

/// Calls `use` with the rows of those heads that can be read and have two rows, in order.
void for_each_readable(const std::vector<HeadSide>& heads, const RotationRows& rows,
                       const std::function<void(const HeadSide&, const RowsView&)>& use);

/// A rotation for vectors of a given layer and width; none if it is unknown or does not fit them.
using RotationOfLayer = std::function<std::optional<Rotation>(int layer, std::size_t width)>;

/// A candidate as the rotation of every layer.
RotationOfLayer in_every_layer(const RotationCandidate& candidate);

/// One number for each rotation that is tried: energy that is fixed, or its share. NaN: unknown, since a width does not
/// fit.
struct FixedEnergy {
  std::vector<double> common;   ///< under common_candidates()
  double configured = 0;        ///< as the run un-rotates the vectors
  std::vector<double> further;  ///< under further candidates
};

/// The evidence of one side of a head. Depends on nothing but its rows and the rotations that are tried.
struct FileEvidence {
  std::size_t width = 0;  ///< of its vectors
  double energy = 0;      ///< the mean of |v|^2
  FixedEnergy fixed;      ///< the part of `energy` that is fixed
};

/// Evidences by head.
using RotationEvidence = std::map<HeadSide, FileEvidence>;

/// Measures evidence. Thread-safe.
class EvidenceMeter {
 public:
  /// An empty `configured` gives NaN.
  EvidenceMeter(RotationOfLayer configured, std::vector<RotationOfLayer> further);

  /// `rows` must be two or more.
  FileEvidence measure(int layer, const RowsView& rows);
  FileEvidence measure(int layer, const RowSample& sample);

 private:
  RotationOfLayer configured_;
  std::vector<RotationOfLayer> further_;
  CommonCandidateTables tables_;
};

/// The shares of a layer.
struct LayerShares {
  int layer = 0;
  FixedEnergy shares;
};

/// Shares of the vectors' energy that are fixed, in all of a dump and in each layer.
struct RotationShares {
  std::size_t width = 0;  ///< of the vectors of the first head
  FixedEnergy dump;
  std::vector<LayerShares> layers;  ///< ascending
};

/// Sums evidences over the heads of each layer and of the dump. None without evidence. Throws Error(input) for evidence
/// that no EvidenceMeter with `further` further candidates gives: with lists of another length, or without energy.
std::optional<RotationShares> shares_of(const RotationEvidence& evidence, std::size_t further);

}  // namespace attention_plasticity
