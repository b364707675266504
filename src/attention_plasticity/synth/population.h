#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attention_plasticity/rotation.h"
#include "attention_plasticity/synth/context.h"
#include "attention_plasticity/synth/head_model.h"
#include "attention_plasticity/synth/noise.h"

namespace attention_plasticity {

/// `count` consecutive rows k1 - k2, each the difference of two keys of one document at two different positions. The
/// positions are uniform over a bucket, which must have at least two tokens.
std::vector<float> draw_key_differences(const HeadModel& keys, const Noise& noise,
                                        const std::optional<Rotation>& rotation, TokenRange range, std::size_t count,
                                        NormalSource& normals);

/// `count` consecutive queries, each from another document, at positions uniform over a bucket.
std::vector<float> draw_queries(const HeadModel& queries, const Noise& noise, const Noise& effects,
                                const std::optional<Rotation>& rotation, TokenRange range, std::size_t count,
                                NormalSource& normals);

}  // namespace attention_plasticity
