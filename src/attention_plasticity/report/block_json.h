#pragma once

#include <vector>

#include "attention_plasticity/json/json.h"
#include "attention_plasticity/report/packed_blocks.h"
#include "attention_plasticity/rows.h"

namespace attention_plasticity {

/// {kind, offset, count, scale}: where the page finds a block, and how it reads it.
Json block_json(const PackedBlock& block);

/// The blocks layer, q_head and k_head of these heads.
Json heads_json(const std::vector<HeadId>& heads, PackedBlocks& blocks);

}  // namespace attention_plasticity
