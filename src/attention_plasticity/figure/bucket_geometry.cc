#include "attention_plasticity/figure/bucket_geometry.h"

#include <fmt/format.h>

#include <cmath>

#include "attention_plasticity/error.h"

namespace attention_plasticity {
namespace {

constexpr double farthest = 1e12;  // tokens

bool has_one_decimal(double value) { return value * 10 == std::floor(value * 10); }

}  // namespace

double BucketGeometry::start(std::int64_t bucket) const {
  const auto number = static_cast<double>(bucket);
  return type == BucketType::log ? std::exp2(number) * size : number * size;
}

double BucketGeometry::middle(std::int64_t bucket) const {
  const double number = static_cast<double>(bucket) + 0.5;
  return type == BucketType::log ? std::exp2(number) * size : number * size;
}

void check_reach(const BucketGeometry& geometry, std::int64_t last_bucket) {
  // Without a size in tokens, positions count buckets, of which there may be any number.
  const bool counts_buckets = !geometry.in_tokens && geometry.type == BucketType::uniform;
  if (counts_buckets || geometry.middle(last_bucket) <= farthest) return;
  throw Error(ErrorKind::usage,
              fmt::format("bucket {} would lie {:.1e} tokens into the text; check `bucket_type` and `bucket_min_size`",
                          last_bucket, geometry.middle(last_bucket)));
}

std::string token_label(double tokens) {
  constexpr double kilo = 1024;
  if (tokens >= kilo * kilo && has_one_decimal(tokens / (kilo * kilo))) {
    return fmt::format("{:g}M", tokens / (kilo * kilo));
  }
  if (tokens >= kilo && has_one_decimal(tokens / kilo)) return fmt::format("{:g}k", tokens / kilo);
  return tokens == std::floor(tokens) ? fmt::format("{:.0f}", tokens) : fmt::format("{:.3g}", tokens);
}

}  // namespace attention_plasticity
