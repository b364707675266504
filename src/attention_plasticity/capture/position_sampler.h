#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention_plasticity/capture/capture_settings.h"
#include "attention_plasticity/dump/layout.h"

// Positions are sampled as the public capture tool (qk-sniffer) does it, to the bit: each position of a document is
// kept with a probability of its own, by a generator that is seeded with the document, the layer and the side. So all
// query heads of a layer have the same positions, its key heads others, and a document's positions depend neither on
// the other documents nor on the number of heads.

namespace attention_plasticity {

/// The captured positions of a document, ascending, and the bucket of each.
struct SampledPositions {
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> buckets;
};

/// The tokens of a bucket, or with log_uniform of the smallest one: bucket_size rounded up to a power of two.
std::size_t effective_bucket_size(const CaptureSettings& settings);

/// The bucket of a position. uniform, all: position / bucket_size, rounded down. log_uniform: bucket b holds the
/// positions 2^b - 1 to 2^(b + 1) - 2, and all before the first bucket belong to that, log2 of its size.
std::int64_t bucket_of(const CaptureSettings& settings, std::int64_t position);

/// The positions of the document `document`, `length` tokens long, of which queries or keys of `layer` are captured.
/// uniform keeps a position with probability rows_per_bucket / bucket_size; log_uniform with rows_per_bucket / 2^b in
/// bucket b; all keeps each.
SampledPositions sampled_positions(const CaptureSettings& settings, std::size_t length, std::uint64_t document,
                                   int layer, Side side);

/// Throws Error(input) when no document of these lengths reaches beyond its first bucket: nothing could be measured.
void require_two_buckets(const CaptureSettings& settings, std::span<const std::size_t> lengths);

/// Throws Error(input) when the files of a layer have no rows.
void require_rows(std::size_t rows, int layer);

}  // namespace attention_plasticity
