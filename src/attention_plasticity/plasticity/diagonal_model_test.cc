#include "attention_plasticity/plasticity/diagonal_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_plasticity/base/highway_targets_testing.h"
#include "attention_plasticity/plasticity/query_model.h"
#include "attention_plasticity/plasticity/random_rows_testing.h"

namespace attention_plasticity {
namespace {

LineFit random_lines(std::size_t width, NumpyGenerator& generator) {
  LineFit lines;
  for (std::size_t c = 0; c < width; ++c) {
    lines.intercept.push_back(random_normal(generator));
    lines.slope.push_back(0.01 * random_normal(generator));
    lines.r_squared.push_back(0.5);
    lines.residual_variance.push_back(c % 5 == 4 ? 0.0 : 0.2 + generator.random());
  }
  return lines;
}

PositionFrame random_frame(std::size_t width, bool turned, NumpyGenerator& generator) {
  std::vector<double> sign(width), slope(width);
  for (std::size_t c = 0; c < width; ++c) {
    sign[c] = generator.random() < 0.5 ? -1 : 1;
    if (turned) slope[c] = random_normal(generator);
  }
  return PositionFrame(sign, Householder(slope));
}

std::vector<double> plainly(const PositionFrame& frame, const LineFit& fit, double mean_position, const HeadRows& keys,
                            std::span<const KeyPair> pairs) {
  Matrix differences(pairs.size(), keys.width);
  write_differences(keys, pairs, differences);
  const auto no_query = [](std::size_t, std::span<double>) {};
  const GroupedLines lines(Method::diagonal, fit, frame, {}, {}, no_query);
  const std::vector<double> position{mean_position};
  return QueryModel(Method::diagonal, frame, lines, {{0}}, position, no_query).pairs(differences).plasticity();
}

TEST(DiagonalModel, IsThatOfRotatedDifferencesForEveryWidth) {
  for (std::size_t width = 1; width <= 130; ++width) {
    NumpyGenerator generator(width);
    const HeadRows keys = random_rows(1, 12, 64, 16, width, generator);
    const LineFit lines = random_lines(width, generator);
    const PositionFrame frame = random_frame(width, width % 7 != 3, generator);
    std::vector<KeyPair> pairs(width % 20);
    for (KeyPair& pair : pairs) pair = {generator.integers(12), generator.integers(12)};
    const std::vector<double> expected = plainly(frame, lines, 37.0, keys, pairs);
    for_every_target([&](const char* target) {
      SCOPED_TRACE(testing::Message() << target << ", " << width << " components");
      const std::vector<double> values = DiagonalModel(frame, lines, 37.0).plasticity(keys, pairs);
      ASSERT_EQ(values.size(), expected.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(std::isnan(values[i]), pairs[i].first == pairs[i].second);  // no difference, no variance
        if (!std::isnan(values[i])) {
          ASSERT_NEAR(values[i], expected[i], 1e-13);
        }
      }
    });
  }
}

}  // namespace
}  // namespace attention_plasticity
