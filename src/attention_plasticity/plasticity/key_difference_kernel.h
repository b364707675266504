#pragma once

#include <span>

#include "attention_plasticity/base/matrix.h"
#include "attention_plasticity/plasticity/key_pairs.h"
#include "attention_plasticity/rows.h"

namespace attention_plasticity {

/// Writes w = k1 - k2 of each pair into `differences`, pairs × components.
void write_differences(const RowsView& keys, std::span<const KeyPair> pairs, Matrix& differences);

}  // namespace attention_plasticity
