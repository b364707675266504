#include "attention_plasticity/synth/context.h"

#include <algorithm>
#include <bit>

namespace attention_plasticity {
namespace {

void draw_within(TokenRange range, std::size_t count, NumpyGenerator& generator, std::vector<std::uint64_t>& out) {
  for (const std::size_t offset : generator.choice_without_replacement(range.count, count)) {
    out.push_back(range.first + offset);
  }
}

}  // namespace

Context::Context(const SynthOptions& options)
    : spacing_(options.spacing),
      buckets_(options.buckets),
      bucket_size_(options.bucket_size),
      tokens_(spacing_ == BucketSpacing::log ? std::uint64_t{1} << buckets_ : buckets_ * bucket_size_) {}

std::size_t Context::bucket_of(std::uint64_t position) const {
  if (spacing_ == BucketSpacing::uniform) return position / bucket_size_;
  return position < 2 ? 0 : static_cast<std::size_t>(std::bit_width(position)) - 1;
}

TokenRange Context::bucket(std::size_t index) const {
  if (spacing_ == BucketSpacing::uniform) return {index * bucket_size_, bucket_size_};
  if (index == 0) return {0, 2};
  return {std::uint64_t{1} << index, std::uint64_t{1} << index};
}

std::vector<std::size_t> Context::shares(std::size_t rows) const {
  std::vector<std::size_t> shares(buckets_);
  // Later buckets are never smaller, so they can take the rows that a full bucket cannot.
  for (std::size_t b = 0; b < buckets_; ++b) {
    shares[b] = static_cast<std::size_t>(std::min<std::uint64_t>(bucket(b).count, rows / (buckets_ - b)));
    rows -= shares[b];
  }
  return shares;
}

std::vector<std::uint64_t> Context::draw_positions(std::size_t rows, NumpyGenerator& generator) const {
  std::vector<std::uint64_t> positions;
  positions.reserve(rows);
  while (rows - positions.size() >= tokens_) {
    for (std::uint64_t position = 0; position < tokens_; ++position) positions.push_back(position);
  }
  const std::size_t left = rows - positions.size();
  if (spacing_ == BucketSpacing::uniform) {
    draw_within({0, tokens_}, left, generator, positions);
  } else {
    const std::vector<std::size_t> of_bucket = shares(left);
    for (std::size_t b = 0; b < buckets_; ++b) draw_within(bucket(b), of_bucket[b], generator, positions);
  }
  std::ranges::sort(positions);
  return positions;
}

std::vector<double> Context::expected_rows(std::size_t rows) const {
  const std::uint64_t rounds = rows / tokens_;
  const std::size_t left = rows % tokens_;
  std::vector<double> expected(buckets_);
  const std::vector<std::size_t> of_bucket = spacing_ == BucketSpacing::log ? shares(left) : std::vector<std::size_t>{};
  for (std::size_t b = 0; b < buckets_; ++b) {
    const auto count = static_cast<double>(bucket(b).count);
    const double of_left = spacing_ == BucketSpacing::log
                               ? static_cast<double>(of_bucket[b])
                               : static_cast<double>(left) * count / static_cast<double>(tokens_);
    expected[b] = static_cast<double>(rounds) * count + of_left;
  }
  return expected;
}

std::size_t rows_of_example(const SynthOptions& options, std::size_t example) {
  return options.rows / options.examples + (example < options.rows % options.examples ? 1 : 0);
}

std::vector<double> expected_rows_by_bucket(const SynthOptions& options) {
  const Context context(options);
  const std::size_t fewer = options.rows / options.examples;
  const std::size_t with_one_more = options.rows % options.examples;
  const std::vector<double> long_ones = context.expected_rows(fewer + 1);
  const std::vector<double> short_ones = context.expected_rows(fewer);
  std::vector<double> expected(context.buckets());
  for (std::size_t b = 0; b < expected.size(); ++b) {
    expected[b] = static_cast<double>(with_one_more) * long_ones[b] +
                  static_cast<double>(options.examples - with_one_more) * short_ones[b];
  }
  return expected;
}

}  // namespace attention_plasticity
