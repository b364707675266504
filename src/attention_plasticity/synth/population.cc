#include "attention_plasticity/synth/population.h"

#include <array>
#include <span>

#include "attention_plasticity/synth/generated_rows.h"

namespace attention_plasticity {

std::vector<float> draw_key_differences(const HeadModel& keys, const Noise& noise,
                                        const std::optional<Rotation>& rotation, TokenRange range, std::size_t count,
                                        NormalSource& normals) {
  const std::size_t dim = keys.dim();
  std::vector<float> drawn(2 * count * dim);
  noise.draw(normals, drawn);
  std::vector<float> differences(count * dim);
  for (std::size_t pair = 0; pair < count; ++pair) {
    const std::span<float> first = std::span(drawn).subspan(2 * pair * dim, dim);
    const std::span<float> second = std::span(drawn).subspan((2 * pair + 1) * dim, dim);
    std::array<std::size_t, 2> offset{};
    normals.generator().choice_without_replacement(range.count, offset);
    place_row(keys, rotation, static_cast<double>(range.first + offset[0]), first);
    place_row(keys, rotation, static_cast<double>(range.first + offset[1]), second);
    for (std::size_t c = 0; c < dim; ++c) differences[pair * dim + c] = first[c] - second[c];
  }
  return differences;
}

std::vector<float> draw_queries(const HeadModel& queries, const Noise& noise, const Noise& effects,
                                const std::optional<Rotation>& rotation, TokenRange range, std::size_t count,
                                NormalSource& normals) {
  const std::size_t dim = queries.dim();
  std::vector<float> rows(count * dim);
  noise.draw(normals, rows);
  if (queries.effect > 0) {
    std::vector<float> shifts(rows.size());
    effects.draw(normals, shifts);
    const auto scale = static_cast<float>(queries.effect);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += scale * shifts[i];
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t position = range.first + normals.generator().integers(range.count);
    place_row(queries, rotation, static_cast<double>(position), std::span(rows).subspan(i * dim, dim));
  }
  return rows;
}

}  // namespace attention_plasticity
