#pragma once

#include <span>
#include <vector>

#include "attention_plasticity/base/head_rows.h"
#include "attention_plasticity/plasticity/key_difference_kernel.h"
#include "attention_plasticity/plasticity/key_pairs.h"
#include "attention_plasticity/plasticity/position_frame.h"
#include "attention_plasticity/stats/line_fit.h"

namespace attention_plasticity {

/// What QueryModel is for Method::diagonal while no group is left out, straight from the keys: their differences are
/// neither stored nor rotated.
class DiagonalModel {
 public:
  /// `lines` are those of the rotated queries; the model is that of the queries around `mean_position`.
  DiagonalModel(const PositionFrame& frame, const LineFit& lines, double mean_position);

  /// 4 p (1 - p) with p = P(w·q > 0) for w = k1 - k2 of each pair; NaN where w·q has no variance.
  std::vector<double> plasticity(const HeadRows& keys, std::span<const KeyPair> pairs) const;

 private:
  ReflectedMoments moments_;
};

}  // namespace attention_plasticity
