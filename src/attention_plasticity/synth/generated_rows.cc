#include "attention_plasticity/synth/generated_rows.h"

#include <algorithm>
#include <vector>

#include "attention_plasticity/rotary/rotary_parameters.h"
#include "attention_plasticity/synth/bfloat16.h"
#include "attention_plasticity/synth/context.h"
#include "attention_plasticity/synth/noise.h"
#include "attention_plasticity/synth/streams.h"

namespace attention_plasticity {
namespace {

void add_places(const SynthOptions& options, NumpyGenerator generator, HeadRows& rows) {
  const Context context(options);
  rows.bucket.reserve(options.rows);
  rows.example.reserve(options.rows);
  rows.position.reserve(options.rows);
  for (std::size_t example = 0; example < std::min(options.examples, options.rows); ++example) {
    for (const std::uint64_t position : context.draw_positions(rows_of_example(options, example), generator)) {
      rows.bucket.push_back(static_cast<std::int64_t>(context.bucket_of(position)));
      rows.example.push_back(example);
      rows.position.push_back(static_cast<double>(position));
    }
  }
}

void add_effects(const HeadModel& model, NormalSource normals, HeadRows& rows) {
  // Effects are normal even with heavy tails, because a few documents could not show a tail.
  const Noise noise(model, Tails::normal);
  const auto scale = static_cast<float>(model.effect);
  std::vector<float> effect(rows.width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || rows.example[i] != rows.example[i - 1]) noise.draw(normals, effect);
    float* const row = rows.vectors.data() + i * rows.width;
    for (std::size_t c = 0; c < rows.width; ++c) row[c] += scale * effect[c];
  }
}

}  // namespace

std::optional<Rotation> make_rotation(const SynthOptions& options) {
  if (!options.rope_theta) return std::nullopt;
  RotaryParameters parameters;
  parameters.theta = *options.rope_theta;
  const std::size_t dim = options.rope_dim.value_or(options.dim - options.rope_first);
  Rotation rotation = make_rotation(parameters, dim, options.rope_layout, 0);
  rotation.first = options.rope_first;
  return rotation;
}

void place_row(const HeadModel& model, const std::optional<Rotation>& rotation, double position, std::span<float> row) {
  for (std::size_t c = 0; c < row.size(); ++c) {
    row[c] = static_cast<float>(row[c] + (model.mean[c] + model.slope[c] * position));
  }
  if (rotation) rotation->rotate(row, position);
}

std::optional<double> window_of_layer(const SynthOptions& options, int layer) {
  const auto& sliding = options.sliding_layers;
  if (!options.window || (!sliding.empty() && std::ranges::find(sliding, layer) == sliding.end())) return std::nullopt;
  return *options.window;
}

HeadRows generate_rows(const SynthOptions& options, Side side, HeadNumber head) {
  const HeadModel model = make_head_model(options, side, head);
  const auto generator = [&](Stream stream) {
    return stream_generator(stream == Stream::noise ? options.seed : truth_seed(options), side, head, stream);
  };
  HeadRows rows;
  rows.width = options.dim;
  rows.window = window_of_layer(options, head.layer);
  add_places(options, generator(Stream::places), rows);

  rows.vectors.resize(options.rows * options.dim);
  NormalSource normals(generator(Stream::noise));
  Noise(model, options.tails).draw(normals, rows.vectors);
  if (model.effect > 0) add_effects(model, NormalSource(generator(Stream::effects)), rows);
  const auto rotation = make_rotation(options);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    place_row(model, rotation, rows.position[i], {rows.vectors.data() + i * rows.width, rows.width});
  }
  if (options.bfloat16) std::ranges::transform(rows.vectors, rows.vectors.begin(), round_to_bfloat16);
  return rows;
}

}  // namespace attention_plasticity
