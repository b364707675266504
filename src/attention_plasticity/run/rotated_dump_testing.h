#pragma once

#include "attention_plasticity/rotation/rotated_rows_testing.h"
#include "attention_plasticity/run/small_dump_testing.h"

namespace attention_plasticity {

/// A dump with the rows of RotatedHeads.
class RotatedDump : public SmallDump {
 public:
  RotatedDump(int layers, std::size_t width, double mean, const RotationByLayer& rotation) : SmallDump(layers, 2, 1) {
    const RotatedHeads heads(layers, width, mean, rotation);
    for (const HeadSide& head : heads.heads()) write(head.side, head.head.layer, head.head.head, heads.of(head));
  }
};

}  // namespace attention_plasticity
