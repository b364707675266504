#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attention_plasticity/rotary/rotation.h"
#include "attention_plasticity/synth/context.h"
#include "attention_plasticity/synth/head_model.h"
#include "attention_plasticity/synth/noise.h"

namespace attention_plasticity {

/// `count` differences k1 - k2, row after row, of keys of one document at two different positions, uniform over a
/// bucket of at least two tokens.
std::vector<float> draw_key_differences(const HeadModel& keys, const Noise& noise,
                                        const std::optional<Rotation>& rotation, TokenRange range, std::size_t count,
                                        NormalSource& normals);

/// `count` queries, row after row, each of a document of its own, at positions uniform over a bucket.
std::vector<float> draw_queries(const HeadModel& queries, const Noise& noise, const Noise& effects,
                                const std::optional<Rotation>& rotation, TokenRange range, std::size_t count,
                                NormalSource& normals);

}  // namespace attention_plasticity
