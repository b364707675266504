#pragma once

namespace attention_plasticity {

/// How the queries of a bucket are modelled (docs/method.md, "Query models").
enum class Method { positional, full, diagonal };
/// How pairs of keys are drawn.
enum class Sampler { bucket, local };
/// What a cell weighs in the head's mean.
enum class Weighting { queries, pairs, uniform };
/// What a `sliding_window` column counts.
enum class WindowUnit { tokens, buckets };
/// When vectors were captured: after the rotary embedding rotated them to their position, or before.
enum class Vectors { post, pre };

}  // namespace attention_plasticity
