#pragma once

namespace attention_plasticity {

/// How the queries of a bucket are modelled (docs/method.md, "Query models").
enum class Method { positional, full, diagonal };
/// How pairs of keys are drawn (key_pairs.h).
enum class Sampler { bucket, local };
/// Weight of a cell in the head's mean: its queries, its pairs, or 1.
enum class Weighting { queries, pairs, uniform };
/// Unit of a sliding window.
enum class WindowUnit { tokens, buckets };
/// When vectors were captured: after the rotary embedding rotated them to their position, or before.
enum class Vectors { post, pre };

}  // namespace attention_plasticity
